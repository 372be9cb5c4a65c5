from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.field.contestants import FIELD, RIVALS, Contestant, Load
from benchmarks.field.homes import PINS, ROOT, pins, version
from benchmarks.field.parts import PARTS

LOADS = [Load(), Load(processes=2), Load(concurrency=100)]


@pytest.mark.parametrize("part", [part.name for part in PARTS])
def test_no_two_have_a_name_in_a_part(part: str) -> None:
    names = [who.name for who in FIELD if part in who.parts]

    assert len(names) == len(set(names)) > 0


def test_every_part_that_somebody_takes_part_in_is_one() -> None:
    assert set().union(*(who.parts for who in FIELD)) == {part.name for part in PARTS}


@pytest.mark.parametrize("home", sorted({who.home for who in RIVALS}))
def test_every_rival_is_pinned_to_a_version(home: str) -> None:
    assert version(home)[0].isdigit()


def test_nothing_is_pinned_that_nobody_needs() -> None:
    assert set(PINS.iterdir()) == {pins(who.home) for who in RIVALS}


@pytest.mark.parametrize("who", FIELD, ids=lambda who: who.name)
def test_what_a_contestant_runs_is_there(who: Contestant) -> None:
    commands = [who.put, *(command for load in LOADS for command in who.work(load))]
    words = {word.partition(":")[0] for command in commands for word in command}
    modules = [word for word in words if word.startswith("benchmarks.")]
    scripts = [word for word in words if word.endswith(".js")]

    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or place.parent.with_suffix(".py").exists()
    assert all(Path(script).exists() for script in scripts)
    assert modules or scripts
