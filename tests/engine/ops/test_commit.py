"""decide: a write is decided once, and the commit log records it."""

from __future__ import annotations

import pytest

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import Desk, names_in
from tests.support.dump import dump


def test_a_write_is_decided_once(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.prepared("one", "a")
    desk.prepared("two", "b")

    first, entry = desk.decide("one", rows=1)
    again, same = desk.decide("two", rows=7)

    assert (first, again) == (1, 0)
    assert entry == same
    assert entry == {
        "batch": "-1",
        "transaction": "one",
        "queue": "mail",
        "rows": "1",
        "state": "committed",
        "committed_at": str(round(clock.now.timestamp() * 1000)),
    }


@pytest.mark.parametrize("published", [False, True])
def test_to_decide_again_changes_nothing(hr: Client, *, published: bool) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    if published:
        desk.publish_all("b")
    before = dump(hr)

    assert desk.decide("b")[0] == 0
    assert dump(hr) == before


def test_only_a_prepared_bundle_can_be_decided(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1")])
    desk.prepared("given up", "b")
    desk.discard("given up")
    before = dump(hr)

    assert desk.decide("never was") == "WRITE_ABORTED"
    assert desk.decide("given up") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_of_a_stream_the_newest_batch_is_kept_and_earlier_ones_are_done(hr: Client) -> None:
    desk = Desk(hr)
    for batch in (0, 1, 5):
        desk.prepared(f"b{batch}", f"job{batch}", write="stream:q")
        assert desk.decide(f"b{batch}", "stream:q", batch)[0] == 1
    desk.prepared("late", "late", write="stream:q")
    before = dump(hr)

    for batch in (0, 3, 5):
        first, entry = desk.decide("late", "stream:q", batch)
        assert (first, entry["transaction"], entry["batch"]) == (0, "b5", "5")
    assert dump(hr) == before
    assert [key for key in before if "}:write:" in key] == [hr.core.key(0, "write:stream:q")]


def test_a_batch_that_was_decided_is_published_though_the_next_one_is_decided(
    hr: Client, clock: Clock
) -> None:
    desk = Desk(hr)
    for batch in (0, 1):
        desk.prepared(f"b{batch}", f"job{batch}", write="stream:q")
        desk.decide(f"b{batch}", "stream:q", batch)
    clock.tick(2)
    hr.sweep()

    assert sorted(names_in(hr)) == ["job0", "job1"]
    assert desk.written("stream:q")[0]["state"] == "published"


def test_agenda_publishes_if_no_driver_does(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1")], [("b", b"2")], [("c", b"3")])
    desk.prepare("bundle", ("p", 3))
    desk.decide("bundle")
    hr.queue("other").put("meanwhile")
    assert names_in(hr) == []

    clock.tick(2)
    for _ in range(3):
        hr.queue("other").put("something else")
        clock.tick(0.02)

    assert names_in(hr) == ["a", "b", "c"]
    written = hr.writes.get("w")
    assert written is not None
    assert (written.rows, written.made, written.published_at is None) == (0, 3, False)
    assert hr.audit().balanced


def test_entries_of_writes_go_after_seven_days_and_of_a_stream_after_a_year(
    hr: Client, clock: Clock
) -> None:
    desk = Desk(hr)
    desk.decided("b", "a")
    desk.publish_all("b")
    desk.prepared("s", "x", write="stream:q")
    desk.decide("s", "stream:q", 0)
    desk.publish_all("s")
    clock.tick(7 * 86_400 - 1)
    hr.sweep()
    assert len(hr.writes.list()) == 2

    clock.tick(1)
    hr.sweep()
    assert [write.id for write in hr.writes.list()] == ["q"]
    clock.tick(358 * 86_400)
    hr.sweep()
    assert hr.writes.list() == []
    left = {key.partition("}:")[2].partition(":")[0] for key in dump(hr)}
    assert not left & {"write", "writes", "streams"}


def test_an_entry_does_not_go_before_its_jobs_are_there(hr: Client, clock: Clock) -> None:
    desk = Desk(hr, shard=0)
    desk.decided("b", "a")
    # This imitates another shard that has not published yet: the shard does not know it is alone.
    hr.core.transport.send([(0, ("HSET", hr.core.key(0, "meta"), "shards", "2"))])
    desk.publish_all("b")
    clock.tick(30 * 86_400)
    hr.queue("other").put(1)

    assert desk.written(bundle="b")[1] == "published"
    assert desk.conclude("b", 1, 0, 0, 0)["state"] == "published"
    clock.tick(86_400)
    hr.queue("other").put(1)
    assert desk.written() == ({}, "")
