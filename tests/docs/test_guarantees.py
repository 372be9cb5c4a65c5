"""The numbers of docs/guarantees.md are those of the code, and its exceptions are real."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import headrace
from headrace import Client, Limits, NoResult
from headrace.client.given import MOST_LINKS
from headrace.client.talks.ending import LOG_LINES
from headrace.client.talks.matching import MATCH_AT_MOST, MATCH_BYTES
from headrace.client.talks.popping import SAFETY_POLL
from headrace.client.talks.queues import DELETE_AT_MOST
from headrace.client.talks.sessions import TTL
from headrace.client.talks.tracking import MOST_TRACKED
from headrace.engine.profile import default
from headrace.engine.source import source
from tests import servers
from tests.docs.pages import ROOT
from tests.proxy import Way, way_to

DAY = 86400
LOST = "before the answer"


def in_lua(name: str, constant: str) -> int:
    [found] = re.findall(rf"local {constant} = (\d+)", source(name).text)
    return int(found)


def days(name: str) -> str:
    value = default(name)
    assert isinstance(value, float)
    return f"{value / DAY:g} day"


def test_the_page_has_the_numbers_of_the_code() -> None:
    text = " ".join((ROOT / "docs" / "guarantees.md").read_text().split())
    limits = Limits()

    for phrase in (
        f"more than {limits.batch} jobs of a shard (`Limits.batch`)",
        f"more than {DELETE_AT_MOST} jobs in a shard: {DELETE_AT_MOST} in a step",
        f"more than {MATCH_AT_MOST:,} jobs in a shard: {MATCH_AT_MOST:,} are looked at in a step",
        f"of large payloads as many as make {MATCH_BYTES >> 20} MiB",
        f"more than {in_lua('lib/sessions', 'AT_MOST')} jobs in a shard",
        f"`retract` of more than {limits.batch} items of a feed: one step for each {limits.batch}",
        f"leaves out more than {in_lua('lib/feed_evict', 'EVICT_AT_MOST'):,} items",
        f"fewer if these are more than {MOST_LINKS:,}",
        f"on which more than {in_lua('lib/update_dependents', 'FOLLOW_AT_MOST')} others depend",
        f"seconds after its last renewal ({TTL:g} by default)",
        f"as pop says, else the queue, else {default('lease'):g} seconds",
        f"A job has {default('retries')} retries unless told otherwise",
        f"looks again after {SAFETY_POLL:g} seconds at the latest",
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
def way(url: str) -> Iterator[Way]:
    with way_to(url) as found:
        yield found


@pytest.fixture
def calm(url: str) -> Iterator[Client]:
    with headrace.connect(url) as client:
        yield client


@pytest.fixture
def hr(way: Way, calm: Client) -> Iterator[Client]:
    """A client whose answers get lost; the server knows the scripts already."""
    texts = [calm.core.library[op].text for op in ("put", "pop", "result", "timeout")]
    calm.core.wire.send([(0, ("SCRIPT", "LOAD", text)) for text in texts])
    with headrace.connect(way.url) as client:
        yield client


def sha(calm: Client, op: str) -> str:
    return calm.core.library[op].sha


def test_a_put_is_made_twice_if_its_job_is_forgotten_before_it_is_repeated(
    hr: Client, calm: Client, way: Way
) -> None:
    calm.queue("mail").configure("fifo")
    seen = []
    way.lose(sha(calm, "put"), LOST, meanwhile=lambda: seen.extend(calm.queue("mail").pop("w")))

    hr.queue("mail").put("x")

    assert (way.cuts, len(seen), calm.queue("mail").length()) == (1, 1, 1)


def test_a_pop_of_fifo_happens_at_most_once(hr: Client, calm: Client, way: Way) -> None:
    calm.queue("mail").configure("fifo")
    calm.queue("mail").put_many(["one", "two"])
    way.lose(sha(calm, "pop"), LOST)

    assert [lease.data for lease in hr.queue("mail").pop("w")] == ["two"]
    assert (way.cuts, calm.queue("mail").length()) == (1, 0)


def test_a_result_is_taken_at_most_once(hr: Client, calm: Client, way: Way) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")[0].complete(7)
    # The first call reads it; the second takes it.
    way.lose(sha(calm, "result"), LOST, skip=1)

    with pytest.raises(NoResult):
        hr.result("a", take=True)

    assert way.cuts == 1


def test_a_timeout_that_is_repeated_reaches_the_next_holder(
    hr: Client, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    seen = []
    way.lose(
        sha(calm, "timeout"), LOST, meanwhile=lambda: seen.extend(calm.queue("mail").pop("next"))
    )

    assert hr.timeout("a") == ["waiting"]

    assert (way.cuts, len(seen), calm.queue("mail").counts().running) == (1, 1, 0)
