"""A check of matching in small steps, while the queue changes between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace import Client, HeadraceError, Put
from headrace.engine.call import build
from headrace.operations.requests import ask_one
from headrace.transport.drive import drive
from tests.model.harness import opened

LARGE = "x" * 1500
DATA = {"small": "x", "other": "y", "large": LARGE, "as large": "y" + LARGE[1:]}
STATES = ("scheduled", "waiting", "running")


@dataclass(frozen=True)
class Search:
    """Jobs as (state, data), the wanted data, and the changes before each new step."""

    jobs: list[tuple[str, str]]
    wanted: str
    size: int
    changes: list[tuple[str, int]]


def check(hr: Client, search: Search) -> None:
    """Assert that matching jobs which stay in place are cancelled once, and no others."""
    hr.queue("mail").put("there is a queue", id="first", delay=99)
    hr.queue("mail").delete()
    for number, (state, data) in enumerate(search.jobs):
        make(hr, f"j{number}", state, data)
    meant = {f"j{number}" for number, (_, data) in enumerate(search.jobs) if data == search.wanted}
    changed = {f"j{number}" for _, number in search.changes}
    looked_up = steps(hr, "find_matching", search, [])
    assert set(looked_up[::2]) == meant
    assert sorted(looked_up[1::2]) == sorted(
        state for state, data in search.jobs if data == search.wanted
    )

    cancelled = steps(hr, "cancel_matching", search, list(search.changes))

    assert len(set(cancelled)) == len(cancelled)
    assert meant - changed <= set(cancelled) <= meant
    there = hr.jobs([f"j{number}" for number in range(len(search.jobs))])
    assert not {job.id for job in there} & set(cancelled)
    assert {job.id for job in there if job.data == DATA[search.wanted]} <= changed
    assert hr.audit().problems == []


def make(hr: Client, name: str, state: str, data: str) -> None:
    hr.queue("mail").put(DATA[data], id=name, delay=60 if state == "scheduled" else 0, priority=-1)
    if state == "running":
        [lease] = hr.queue("mail").pop("w")
        assert lease.id == name
    elif state == "waiting":
        hr.prioritise(name, 1)


def steps(hr: Client, op: str, search: Search, changes: list[tuple[str, int]]) -> list[str]:
    found: list[str] = []
    cursor = b""
    for _ in range(100):
        call = build(
            op,
            list,
            queue="mail",
            data=hr.core.codec.encode(DATA[search.wanted]),
            at_most=search.size,
            cursor=cursor,
        )
        words: list[Any]
        cursor, *words = drive(hr.core.transport, ask_one(hr.core, 0, call))
        assert len(words) <= search.size * (2 if op == "find_matching" else 1)
        found += [word.decode() for word in words]
        if not cursor:
            return found
        if changes:
            change(hr, *changes.pop(0))
    raise AssertionError("the search does not terminate")


def change(hr: Client, what: str, number: int) -> None:
    name = f"j{number}"
    if what == "put":
        hr.queue("mail").put_many([Put("z", id=f"new {number}")])
        hr.cancel(f"new {number}")
    try:
        if what == "cancel":
            hr.cancel(name)
        elif what == "move":
            hr.requeue(name)
        elif what == "fail":
            hr.fail(name, "io")
    except HeadraceError:
        assert hr.job(name) is None


EVERY = [(state, data) for state in STATES for data in DATA for _ in range(2)]
TOLD = [
    Search([("scheduled", "small"), ("waiting", "small"), ("waiting", "small")], "small", 2, []),
    *(Search(EVERY, wanted, size, []) for wanted in DATA for size in (1, 3, 100)),
    Search(EVERY, "small", 2, [("cancel", 0), ("move", 2), ("fail", 9), ("cancel", 17)]),
    Search(EVERY, "large", 2, [("cancel", 4), ("move", 14), ("put", 0), ("fail", 23)]),
]


def matching_works_in_steps(url: str, swaps: dict[str, str]) -> None:
    """Raise if a search with these scripts finds the wrong jobs."""
    client, _ = opened(url, swaps)
    with client:
        for search in TOLD:
            check(client, search)
