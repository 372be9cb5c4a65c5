"""The generated documents match the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import headrace
from headrace.engine.events import KINDS, Event
from headrace.engine.settings import PROFILES
from headrace.engine.states import MOVES, STATES
from headrace.options import OPTIONS
from tests.engine.test_states import ACCEPTED
from tools.docs import generate, sentences


def test_no_generated_document_is_stale() -> None:
    assert [path.name for path, _ in generate.stale()] == []


def test_stale_document_is_reported_and_rewritten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["generate"])
    generate.main()
    (tmp_path / "states.md").write_text("old")

    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    with pytest.raises(SystemExit, match=r"out of date: states\.md; write them with: make docs"):
        generate.main()
    assert (tmp_path / "states.md").read_text() == "old"

    monkeypatch.setattr("sys.argv", ["generate"])
    generate.main()
    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    generate.main()


def test_every_name_has_a_description_and_none_is_unused() -> None:
    assert set(sentences.STATES) == set(STATES)
    assert set(sentences.KINDS) == set(KINDS)
    assert set(sentences.FIELDS) == {field.name for field in fields(Event)}
    assert set(sentences.PROFILES) == set(PROFILES)


# Transitions that time, a pop or a schedule makes, not an operation on a job in a known state.
BY_OTHERS = {
    ("", "waiting"),
    ("", "scheduled"),
    ("", "blocked"),
    ("blocked", "scheduled"),
    ("scheduled", "waiting"),
    ("waiting", "running"),
    ("running", "running"),
    ("failed", "scheduled"),
    ("complete", "gone"),
}


def test_transitions_match_the_tested_operations() -> None:
    """tests/engine/test_states.py tests its table on a server; MOVES must equal this table."""
    listed = {(before, after) for before, after, _ in MOVES}
    from_any = {after for before, after in listed if before == "any state"}
    made = {
        ("running" if before == "taken" else before, "gone" if after == "absent" else after)
        for _, before, after in ACCEPTED
    }
    moves = {(before, after) for before, after in made if before != after or before == "failed"}

    assert {move for move in moves if move not in listed and move[1] not in from_any} == set()
    without_any = {(before, after) for before, after in listed if before != "any state"}
    assert without_any <= moves | BY_OTHERS
    assert {state for move in listed for state in move} <= {"", "gone", "any state", *STATES}


def test_reference_names_everything_that_can_be_imported_and_every_option() -> None:
    page = (generate.FOLDER / "api.md").read_text()

    assert [name for name in headrace.__all__ if not re.search(rf"\b{name}\b", page)] == []
    assert [name for name in OPTIONS if f"| `{name}` |" not in page] == []
