"""scan_set: reads a sorted set in pages while the set changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace import Client, HeadraceError
from headrace.engine.call import Call
from headrace.operations.requests import ask_one
from headrace.transport.drive import drive
from tests.model.harness import Fault, opened
from tests.support.effort import sampled

# An operation that exists only in these tests, and replaces the operation `scan_jobs`.
REPLACED = "scan_jobs"
PAGED = """\
-- paged: a page of a sorted set.
--
-- args   name count:int cursor:packed
-- uses   keys scan_set
-- reply  {the next cursor, member, score, ...}

local found, after = scan_set(key('waiting', name), count, cursor)
table.insert(found, 1, after and cmsgpack.pack(after) or '')
return found
"""
FAULTS = [
    Fault("a page repeats the last member", "lib/scan_set", "or 0", "- 1 or 0"),
    Fault(
        "a member of equal score is skipped", "lib/scan_set", "high = middle", "high = middle - 1"
    ),
    Fault("members of other scores are skipped", "lib/scan_set", "'(' .. score", "score"),
    Fault(
        "all members of equal score are skipped", "lib/scan_set", "low + redis.call", "redis.call"
    ),
    Fault(
        "bytes are compared in the wrong order", "lib/scan_set", "mine > theirs", "mine < theirs"
    ),
    Fault("a prefix counts as the whole member", "lib/scan_set", "#one > #other", "#one >= #other"),
    Fault("the scan ends too early", "lib/scan_set", "size == 2 * count", "size > 2 * count"),
]


@dataclass(frozen=True)
class Story:
    """A sorted set, and the changes of the set before each further page."""

    start: dict[str, float]
    size: int
    changes: list[dict[str, float | None]]

    def stayed(self) -> dict[str, float]:
        """Return the members that stayed in the set from the first to the last page."""
        moved = {member for change in self.changes for member in change}
        return {member: score for member, score in self.start.items() if member not in moved}


MEMBERS = st.text("ab\x01é\uffff", min_size=1, max_size=3)
SCORES = st.sampled_from([-inf, -1.5, 0, 1 / 3, 2**53, inf])
STORIES = st.builds(
    Story,
    st.dictionaries(MEMBERS, SCORES, max_size=12),
    st.integers(1, 4),
    st.lists(st.dictionaries(MEMBERS, SCORES | st.none(), max_size=6), max_size=4),
)

ALIKE = dict.fromkeys(["a", "aa", "ab", "b", "ba", "é", "éa"], 0.0)
TOLD = [
    Story(ALIKE, 2, []),
    Story(ALIKE, 2, [{"aa": None}, {"b": None, "aaa": 0}]),
    Story(ALIKE | {"x": -inf, "y": -inf, "z": inf, "zz": inf}, 1, []),
    Story(ALIKE | {"x": -1, "y": -1, "z": 1}, 3, [{"a": None, "x": None}]),
]


@pytest.fixture(scope="module")
def teller(valkey_url: str) -> Iterator[Client]:
    client, _ = opened(valkey_url, {f"ops/{REPLACED}": PAGED})
    with client:
        yield client


def seen_in(hr: Client, story: Story) -> list[tuple[str, float]]:
    """Return the members that the pages of a story contain."""
    where = hr.core.key(0, "waiting:story")
    hr.core.transport.send([(0, ("DEL", where))])
    change(hr, where, dict(story.start))
    changes = iter(story.changes)
    seen: list[tuple[str, float]] = []
    cursor = b""
    while True:
        cursor, *found = page(hr, story.size, cursor)
        assert len(found) <= 2 * story.size
        pairs = zip(found[::2], found[1::2], strict=True)
        seen += [(member.decode(), float(score)) for member, score in pairs]
        assert len(seen) < 100, "the scan does not terminate"
        if not cursor:
            return seen
        change(hr, where, next(changes, {}))


def page(hr: Client, size: int, cursor: bytes) -> list[Any]:
    call: Call[list[Any]] = Call(REPLACED, ("story", size, cursor), list)
    return drive(hr.core.transport, ask_one(hr.core, 0, call))


def change(hr: Client, where: str, changes: dict[str, Any]) -> None:
    for member, score in changes.items():
        words = ("ZREM", where, member) if score is None else ("ZADD", where, score, member)
        hr.core.transport.send([(0, words)])


def check(hr: Client, story: Story) -> None:
    """Assert that members that stay are seen once, and all members in the order of the set."""
    seen = seen_in(hr, story)
    stayed = story.stayed()
    assert sorted(pair for pair in seen if pair[0] in stayed) == sorted(stayed.items())
    order = [(score, member.encode()) for member, score in seen]
    assert order == sorted(set(order))


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(story=STORIES)
def test_jobs_that_stay_are_seen_once_and_in_order(teller: Client, story: Story) -> None:
    check(teller, story)


@pytest.mark.parametrize("story", TOLD)
def test_scan_returns_members_of_equal_or_infinite_score_once(teller: Client, story: Story) -> None:
    check(teller, story)


@pytest.mark.parametrize("fault", sampled(FAULTS))
def test_a_planted_fault_is_caught(valkey_url: str, fault: Fault) -> None:
    client, _ = opened(valkey_url, {f"ops/{REPLACED}": PAGED, **fault.swaps()})
    with client, pytest.raises((AssertionError, HeadraceError)):
        check_all(client)


def check_all(hr: Client) -> None:
    for story in TOLD:
        check(hr, story)


def test_a_page_of_a_large_set_takes_few_commands(teller: Client) -> None:
    where = teller.core.key(0, "waiting:story")
    teller.core.transport.send([(0, ("DEL", where))])
    words = [word for number in range(20_000) for word in (0, f"{number:06}")]
    teller.core.transport.send([(0, ("ZADD", where, *words))])
    before = commands_done(teller)

    found = page(teller, 2, b"\x92\xa10\xa6010000")

    assert found[1:] == [b"010001", b"0", b"010002", b"0"]
    assert commands_done(teller) - before < 25


def commands_done(hr: Client) -> int:
    [about] = hr.core.transport.send([(0, ("INFO", "commandstats"))])
    calls = [line.partition(b"calls=")[2] for line in about.splitlines() if b"calls=" in line]
    return sum(int(call.partition(b",")[0]) for call in calls)
