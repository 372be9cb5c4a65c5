"""The numbers in docs/reference/guarantees.md match the code, and its exceptions are real."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import headrace
from headrace import Client, Limits, NoResult
from headrace.engine.settings import default
from headrace.engine.source import source
from headrace.operations.finishing import LOG_LINES
from headrace.operations.ids import MOST_LINKS
from headrace.operations.jobs_by_data import MATCH_AT_MOST, MATCH_BYTES
from headrace.operations.popping import SAFETY_POLL
from headrace.operations.queues import DELETE_AT_MOST
from headrace.operations.requests import load
from headrace.operations.sessions import TTL
from headrace.operations.tracking import MOST_TRACKED
from headrace.transport.drive import drive
from tests.docs.support.pages import ROOT
from tests.support import servers
from tests.support.proxy import Way
from tests.support.repeats import mark

DAY = 86400
LOST = "before the answer"


def in_lua(name: str, constant: str) -> int:
    [found] = re.findall(rf"local {constant} = (\d+)", source(name).text)
    return int(found)


def days(name: str) -> str:
    value = default(name)
    assert isinstance(value, float)
    return f"{value / DAY:g} day"


def test_numbers_on_the_page_match_the_code() -> None:
    text = " ".join((ROOT / "docs" / "reference" / "guarantees.md").read_text().split())
    limits = Limits()

    for phrase in (
        f"more than {limits.batch} jobs of a shard (`Limits.batch`)",
        f"more than {DELETE_AT_MOST} jobs in a shard: each step deletes up to {DELETE_AT_MOST}",
        f"more than {MATCH_AT_MOST:,} jobs in a shard: a step compares {MATCH_AT_MOST:,} jobs",
        f"or fewer if their payloads exceed {MATCH_BYTES >> 20} MiB together",
        f"more than {in_lua('lib/sessions', 'AT_MOST')} jobs in a shard",
        f"`retract` of more than {limits.batch} items of a feed: one step for each {limits.batch}",
        f"evicts more than {in_lua('lib/feed_change', 'EVICT_AT_MOST'):,} items",
        f"more than {MOST_LINKS:,} dependencies together",
        f"that has more than {in_lua('lib/update_dependents', 'FOLLOW_AT_MOST')} dependents",
        f"seconds after its last renewal ({TTL:g} by default)",
        f"or else the setting of the queue, or else {default('lease'):g} seconds",
        f"A job has {default('retries')} retries by default",
        f"checks the queue again after {SAFETY_POLL:g} seconds at the latest",
        f"| {default('keep_count'):,} and {days('keep_age')}s, in each shard |",
        f"| {days('result_ttl')} | `result_ttl`",
        f"the first and the newest, {default('history')} |",
        f"the newest {LOG_LINES}, with the job",
        f"{MOST_TRACKED:,} in each shard; more are refused",
        f"| {days('stats_age')}s | `stats_age` |",
        f"| {days('histogram_age')}s | `histogram_age` |",
        f"| {default('events_count'):,} in each shard, and {days('events_age')}s |",
        f"more than `event_data` bytes ({default('event_data'):,})",
        f"| {limits.payload >> 20} MiB, {limits.name} bytes, {limits.tags}, ",
        f"{limits.message >> 10} KiB | `Limits` of the client |",
    ):
        assert phrase in text


@pytest.fixture
def url() -> Iterator[str]:
    with servers.valkey() as found:
        yield found


@pytest.fixture
def calm(url: str) -> Iterator[Client]:
    with headrace.connect(url) as client:
        yield client


@pytest.fixture
def hr(way: Way, calm: Client) -> Iterator[Client]:
    """A client whose replies get lost, on a server that has already loaded the library."""
    drive(calm.core.transport, load(calm.core))
    with headrace.connect(way.url) as client:
        yield client


def test_repeated_put_creates_no_second_job_if_the_first_is_deleted(
    hr: Client, calm: Client, way: Way
) -> None:
    calm.queue("mail").configure("fifo")
    seen = []
    way.lose(mark(calm, "put"), LOST, meanwhile=lambda: seen.extend(calm.queue("mail").pop("w")))

    hr.queue("mail").put("x")

    assert (way.cuts, len(seen), calm.queue("mail").length()) == (1, 1, 0)


def test_pop_from_fifo_delivers_at_most_once(hr: Client, calm: Client, way: Way) -> None:
    calm.queue("mail").configure("fifo")
    calm.queue("mail").put_many(["one", "two"])
    way.lose(mark(calm, "pop"), LOST)

    assert [lease.data for lease in hr.queue("mail").pop("w")] == ["two"]
    assert (way.cuts, calm.queue("mail").length()) == (1, 0)


def test_result_with_take_is_returned_although_the_reply_was_lost(
    hr: Client, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")[0].complete(7)
    way.lose(mark(calm, "take_result"), LOST)

    assert hr.result("a", take=True).value == 7

    assert way.cuts == 1
    with pytest.raises(NoResult):
        hr.result("a", take=True)


def test_repeated_timeout_does_not_apply_to_the_next_holder(
    hr: Client, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    seen = []
    way.lose(
        mark(calm, "timeout"), LOST, meanwhile=lambda: seen.extend(calm.queue("mail").pop("next"))
    )

    assert hr.timeout("a") == ["waiting"]

    assert (way.cuts, len(seen), calm.queue("mail").counts().running) == (1, 1, 1)
