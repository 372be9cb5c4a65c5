"""publish: rows of a write that was decided become jobs, each once; or the write is given up."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from headrace import Client, Queue
from headrace.client.talks.putting import Item
from headrace.engine.record import decode_record
from headrace.testing import Clock, open_with_clock
from tests.dump import dump
from tests.engine.desk import Desk, names_in
from tests.engine.hearing import listening
from tests.engine.shortcuts import found, ids
from tests.engine.twin import LONG_WAY, opened


def test_a_chunk_becomes_jobs_in_one_step(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1"), ("b", b"2")], [("c", b'"three"')])
    desk.prepare("bundle", ("p", 2))
    desk.decide("bundle", rows=3)

    assert desk.publish("bundle") == [1, 2, 0, 0, 0]
    assert names_in(hr) == ["a", "b"]
    assert desk.publish("bundle")[0] == 0
    assert names_in(hr) == ["a", "b", "c"]
    assert found(hr, "c").data == "three"
    assert hr.audit().balanced


def test_what_is_published_is_published_once(hr: Client) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    desk.publish_all("b")
    hr.cancel("a")
    before = dump(hr)

    for _ in range(3):
        assert desk.publish("b")[0] == 0
    assert dump(hr) == before


def test_nothing_is_published_before_it_is_decided(hr: Client) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a")
    before = dump(hr)

    assert desk.publish("b") == "NOT_COMMITTED"
    assert desk.publish("never was") == [0, 0, 0, 0, 0]
    assert dump(hr) == before


def test_what_was_given_up_is_not_published(hr: Client) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a")
    desk.discard("b")
    before = dump(hr)

    assert desk.publish("b") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_parcels_are_published_in_the_order_of_their_partitions(hr: Client) -> None:
    desk = Desk(hr)
    names = [f"parcel{number}" for number in range(12)]
    for number in range(12):
        desk.stage(names[number], [(f"job{number}", b"1")])
    desk.prepare("b", *[(name, 1) for name in names])
    desk.decide("b")
    desk.publish_all("b")

    assert names_in(hr) == [f"job{number}" for number in range(12)]


def test_workers_are_woken_and_events_are_as_of_a_put(hr: Client, url: str) -> None:
    desk = Desk(hr)
    desk.decided("b", "a", "c")
    with listening(hr, url, "queue:mail") as workers:
        desk.publish_all("b")

        assert workers.messages() == ["work 2"]
    [first, _] = hr.events()
    assert (first.kind, first.job_id, first.queue, first.data) == ("put", "a", "mail", b"1")
    assert ids(hr.queue("mail").pop("w", count=5)) == ["a", "c"]


def test_rows_have_options_of_their_own(hr: Client) -> None:
    desk = Desk(hr)
    own = {"priority": 3, "tags": ["vip"], "retries": 7, "key": "k", "origin": "older"}
    desk.stage("p", [("x", b"1", "", own), ("later", b"2", "", {"delay": 5000}), ("y", b"3")])
    desk.prepare("b", ("p", 1))
    desk.decide("b")
    desk.publish_all("b")

    job = found(hr, "x")
    assert (job.priority, job.tags, job.retries, job.key) == (3, ["vip"], 7, "k")
    assert job.origin == "older"
    assert found(hr, "later").state == "scheduled"
    assert found(hr, "y").origin is None
    assert [event.origin for event in hr.events()] == ["older", None, None]
    assert hr.audit().balanced


# jobs that exist


@pytest.mark.parametrize(
    ("policy", "tallies", "data"),
    [
        ("move", [0, 1, 2, 0, 0], [9, 9, 5]),
        ("replace", [0, 2, 1, 0, 0], None),
        ("reject", [0, 1, 0, 0, 2], [1, 2, 5]),
    ],
)
def test_what_becomes_of_jobs_that_exist_is_counted(
    hr: Client, queue: Queue, policy: str, tallies: list[int], data: list[int] | None
) -> None:
    desk = Desk(hr)
    queue.put(1, id="a")
    hr.queue("other").put(2, id="b")
    desk.stage("p", [("a", b"9"), ("b", b"9"), ("new", b"5")])
    desk.prepare("bundle", ("p", 1), on_exists=policy)
    desk.decide("bundle")
    desk.publish_all("bundle")

    entry, _ = desk.written()
    counted = [int(entry[name]) for name in ("made", "moved", "replaced", "skipped")]
    assert sum(counted) == 3
    if data is not None:
        assert counted == tallies[1:]
        assert [found(hr, name).data for name in ("a", "b", "new")] == data
    assert hr.audit().balanced


def test_a_running_job_is_not_replaced_but_skipped(hr: Client, queue: Queue) -> None:
    desk = Desk(hr)
    queue.put(1, id="a")
    [lease] = queue.pop("w")
    desk.stage("p", [("a", b"9")])
    desk.prepare("b", ("p", 1), on_exists="replace")
    desk.decide("b")
    desk.publish_all("b")

    assert lease.complete() == "complete"
    written = hr.written("w")
    assert written is not None
    assert (written.made, written.skipped) == (0, 1)


def test_a_unique_value_that_is_taken_there_is_skipped(hr: Client, queue: Queue) -> None:
    desk = Desk(hr)
    queue.put(1, id="holder", unique="u")
    hr.queue("other").put(1, id="mover", unique="u")
    desk.decided("b", "mover")
    desk.publish_all("b")

    written = hr.written("w")
    assert written is not None
    assert written.skipped == 1
    assert found(hr, "mover").queue == "other"
    assert hr.audit().balanced


def test_with_duplicates_a_row_has_a_spare_id(hr: Client, queue: Queue) -> None:
    desk = Desk(hr)
    queue.put(1, id="a")
    desk.stage("p", [("a", b"9", "{a}~2", None)])
    desk.prepare("b", ("p", 1), on_exists="duplicate")
    desk.decide("b")
    desk.publish_all("b")

    assert found(hr, "{a}~2").data == 9
    assert found(hr, "a").data == 1


def test_an_id_that_comes_twice_is_put_twice_as_with_put(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1"), ("a", b"2")])
    desk.prepare("b", ("p", 1))
    desk.decide("b")
    desk.publish_all("b")

    written = hr.written("w")
    assert written is not None
    assert (written.made, written.moved) == (1, 1)
    assert found(hr, "a").data == 2


# the short way


LARGE = b'"' + b"x" * 3000 + b'"'
HUGE = b'"' + b"x" * 20_000 + b'"'


def published(url: str, swaps: dict[str, str], chunk: list[Item], **settings: Any) -> Any:
    client, clock = opened(url, swaps)
    with client:
        desk = Desk(client)
        client.queue("mail").configure(**settings)
        desk.decided("first", "there", write="batch:first")
        desk.publish_all("first")
        clock.tick(1)
        desk.stage("p", chunk, [("last", b"1")])
        desk.prepare("b", ("p", 2))
        desk.decide("b", rows=len(chunk) + 1)
        clock.tick(1)
        answers = [desk.publish("b"), desk.publish("b"), desk.publish("b")]
        return answers, {
            key.partition("}:")[2]: _read(key, *it) for key, it in dump(client).items()
        }


def _read(key: str, kind: str, value: Any) -> Any:
    # The same job can be packed in several ways, as a table of Lua has no order.
    if "}:job:" not in key:
        return kind, value
    job = decode_record(value)
    return [*astuple(job)[:-1], job.inline_data()]


@pytest.mark.parametrize(
    ("chunk", "settings"),
    [
        ([("a", b"1"), ("b", b"2")], {}),
        ([(f"job{number}", b"{}") for number in range(250)], {}),
        ([("a", LARGE), ("b", b"1")], {}),
        ([("a", HUGE)], {}),
        ([("a", b"1"), ("a", b"2")], {}),
        ([("there", b"1"), ("b", b"2")], {}),
        ([("a", b"1")], {"retries": 3, "event_data": 0}),
        ([("a", b"1")], {"key_concurrency": 1}),
        ([("a", b"\x00\xff{"), ("b", b"")], {}),
        ([("a", b"1", "", {"priority": 2, "tags": ["t"]}), ("b", b"1")], {}),
    ],
    ids=["plain", "many", "large", "huge", "twice", "exists", "settings", "limits", "bytes", "own"],
)
def test_the_short_way_does_what_the_general_way_does(
    url: str, chunk: list[Item], settings: dict[str, Any]
) -> None:
    short = published(url, {}, chunk, **settings)
    general = published(url, LONG_WAY, chunk, **settings)

    assert short == general


def test_a_clock_that_was_set_back_does_not_break_the_order_of_events(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    desk = Desk(hr)
    queue.put(1)
    clock.tick(-3600)
    desk.decided("b", "a")
    desk.publish_all("b")

    [_, event] = hr.events()
    assert (event.job_id, event.at) == ("a", clock.now)


# conclude


def test_the_ledger_says_what_came_of_it(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a", "c")
    desk.decide("b", rows=2)
    clock.tick(1)
    desk.publish_all("b")

    written = hr.written("w")
    assert written is not None
    assert (written.id, written.queue, written.rows, written.batch) == ("w", "mail", 2, None)
    assert (written.made, written.moved, written.replaced, written.skipped) == (2, 0, 0, 0)
    assert written.published_at == clock.now
    assert hr.writes() == [written]
    assert hr.written("other") is None
    assert hr.written("w", stream=True) is None


def test_a_write_is_not_concluded_before_it_is_published(hr: Client) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    before = dump(hr)

    assert desk.conclude("b", 5, 0, 0, 0)["state"] == "committed"
    assert dump(hr) == before


def test_what_was_concluded_stays_so(hr: Client) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    desk.publish_all("b")
    before = dump(hr)

    assert desk.conclude("b", 5, 5, 5, 5)["made"] == "1"
    assert dump(hr) == before


# discard


def test_what_was_decided_is_not_discarded(hr: Client) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    before = dump(hr)

    assert desk.discard("b", "parcel of b") == "ALREADY_COMMITTED"
    assert desk.discard("b", "parcel of b", home=False) == "ALREADY_COMMITTED"
    assert dump(hr) == before


def test_what_is_staged_and_what_is_prepared_can_be_discarded(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("loose", [("a", b"1")])
    desk.prepared("b", "c")
    desk.decided("other", "d", write="batch:other")

    assert desk.discard("b", "loose", "parcel of b", "parcel of other", "missing") == 1

    staged = [key.partition("}:")[2] for key in dump(hr) if "}:staged" in key]
    assert staged == ["staged:parcel of other"]
    assert desk.decide("b") == "WRITE_ABORTED"


def test_much_is_discarded_in_several_calls(hr: Client) -> None:
    desk = Desk(hr)
    parcels = [(f"p{number}", 1) for number in range(250)]
    for name, _ in parcels:
        desk.stage(name, [("a", b"1")])
    desk.prepare("b", *parcels)

    assert [desk.discard("b") for _ in range(3)] == [0, 0, 1]
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]


def test_what_was_discarded_before_its_prepare_arrived_stays_so(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1")])
    desk.discard("b")

    assert desk.prepare("b", ("p", 1)) == "WRITE_ABORTED"


def test_away_from_home_nothing_is_left_of_what_was_discarded(hr: Client) -> None:
    desk = Desk(hr)
    before = dump(hr)
    desk.prepared("b", "a", home=False)

    assert desk.discard("b", home=False) == 1
    assert desk.discard("never was", home=False) == 1
    assert dump(hr) == before


# several shards


def test_an_open_write_is_finished_by_a_sweep_on_all_shards(valkey_url: str) -> None:
    hr, clock = open_with_clock(valkey_url, shards=4)
    with hr:
        names = [f"job{number}" for number in range(40)]
        home = hr.core.shard_of("batch:w")
        desks = [Desk(hr, shard) for shard in (home, *(n for n in range(4) if n != home))]
        for desk in desks:
            mine = [name for name in names if hr.core.shard_of(name) == desk.shard]
            desk.prepared("b", *mine, home=desk.shard == home)
        desks[0].decide("b", rows=40)
        desks[1].publish("b")
        hr.sweep()
        assert 0 < hr.queue("mail").counts().waiting < 40

        clock.tick(2)
        hr.sweep()

        assert hr.queue("mail").counts().waiting == 40
        written = hr.written("w")
        assert written is not None
        assert (written.made, written.published_at) == (40, clock.now)
        assert hr.audit().balanced
        assert not [key for key in dump(hr) if "transaction" in key.partition("}:")[2]]


def test_what_was_never_decided_is_cleared_away_by_a_sweep_on_all_shards(valkey_url: str) -> None:
    hr, clock = open_with_clock(valkey_url, shards=4)
    with hr:
        home = hr.core.shard_of("batch:w")
        for shard in range(4):
            Desk(hr, shard).prepared("b", f"job{shard}", home=shard == home)
        clock.tick(86_399)
        hr.sweep()
        assert len([key for key in dump(hr) if "}:staged" in key]) == 4

        clock.tick(1)
        hr.sweep()

        assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]
        assert Desk(hr, home).decide("b") == "WRITE_ABORTED"
