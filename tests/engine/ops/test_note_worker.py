"""note_worker, noted_workers and forget_workers: the list of workers without a session."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument
from headrace.operations import noted_workers
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.dump import dump


def note(hr: Client, *workers: str) -> None:
    for worker in workers:
        drive(hr.core.transport, noted_workers.note_worker(hr.core, worker))


def noted(hr: Client) -> list[str]:
    return drive(hr.core.transport, noted_workers.noted_workers(hr))


@proves("QL-18")
def test_workers_are_listed_by_their_newest_call(hr: Client, clock: Clock) -> None:
    note(hr, "ada")
    clock.tick(1)
    note(hr, "bob")
    clock.tick(1)
    note(hr, "ada")

    assert noted(hr) == ["ada", "bob"]


@proves("QL-18")
def test_several_pages_are_listed(hr: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noted_workers, "PAGE", 2)
    note(hr, *"abcde")

    assert sorted(noted(hr)) == [*"abcde"]


@proves("QL-18")
def test_age_is_exact_and_a_late_call_removes_silent_workers(hr: Client, clock: Clock) -> None:
    hr.config.set("worker_age", 10)
    note(hr, "ada")
    clock.tick(9.999)
    assert noted(hr) == ["ada"]
    clock.tick(0.001)
    assert noted(hr) == []
    note(hr, "bob")
    hr.config.set("worker_age", 3600)

    assert noted(hr) == ["bob"]


@proves("QL-18")
def test_forgotten_worker_is_not_listed(hr: Client) -> None:
    note(hr, "ada", "bob")
    before = dump(hr)

    drive(hr.core.transport, noted_workers.forget_workers(hr, "unknown"))
    with pytest.raises(InvalidArgument):
        drive(hr.core.transport, noted_workers.forget_workers(hr, ""))
    assert dump(hr) == before
    drive(hr.core.transport, noted_workers.forget_workers(hr, "ada"))

    assert noted(hr) == ["bob"]
