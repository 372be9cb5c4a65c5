"""commit: a write is committed once, and the commit log records it."""

from __future__ import annotations

import pytest

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import SinkScripts, names_in
from tests.support.dump import dump


def test_a_write_is_committed_once(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("one", "a")
    sink.stage_and_prepare("two", "b")

    first, entry = sink.commit("one", rows=1)
    again, same = sink.commit("two", rows=7)

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
def test_second_commit_changes_nothing(hr: Client, *, published: bool) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    if published:
        sink.publish_all("t")
    before = dump(hr)

    assert sink.commit("t")[0] == 0
    assert dump(hr) == before


def test_only_a_prepared_transaction_can_be_committed(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1")])
    sink.stage_and_prepare("aborted", "b")
    sink.discard("aborted")
    before = dump(hr)

    assert sink.commit("never was") == "WRITE_ABORTED"
    assert sink.commit("aborted") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_commit_log_keeps_only_the_newest_batch_of_a_stream(hr: Client) -> None:
    sink = SinkScripts(hr)
    for batch in (0, 1, 5):
        sink.stage_and_prepare(f"t{batch}", f"job{batch}", write="stream:q")
        assert sink.commit(f"t{batch}", "stream:q", batch)[0] == 1
    sink.stage_and_prepare("late", "late", write="stream:q")
    before = dump(hr)

    for batch in (0, 3, 5):
        first, entry = sink.commit("late", "stream:q", batch)
        assert (first, entry["transaction"], entry["batch"]) == (0, "t5", "5")
    assert dump(hr) == before
    assert [key for key in before if "}:write:" in key] == [hr.core.key(0, "write:stream:q")]


def test_committed_batch_is_published_after_the_next_commit(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    for batch in (0, 1):
        sink.stage_and_prepare(f"t{batch}", f"job{batch}", write="stream:q")
        sink.commit(f"t{batch}", "stream:q", batch)
    clock.tick(2)
    hr.sweep()

    assert sorted(names_in(hr)) == ["job0", "job1"]
    assert sink.state("stream:q")[0]["state"] == "published"


def test_agenda_publishes_if_no_driver_does(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1")], [("b", b"2")], [("c", b"3")])
    sink.prepare("t", ("p", 3))
    sink.commit("t")
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


def test_entry_of_a_write_expires_after_7_days_and_of_a_stream_after_a_year(
    hr: Client, clock: Clock
) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    sink.publish_all("t")
    sink.stage_and_prepare("s", "x", write="stream:q")
    sink.commit("s", "stream:q", 0)
    sink.publish_all("s")
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


def test_entry_does_not_expire_before_its_jobs_are_published(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr, shard=0)
    sink.stage_and_commit("t", "a")
    # Simulate a second shard that has not published yet: the metadata names two shards.
    hr.core.transport.send([(0, ("HSET", hr.core.key(0, "meta"), "shards", "2"))])
    sink.publish_all("t")
    clock.tick(30 * 86_400)
    hr.queue("other").put(1)

    assert sink.state(transaction="t")[1] == "published"
    assert sink.finalize("t", 1, 0, 0, 0)["state"] == "published"
    clock.tick(86_400)
    hr.queue("other").put(1)
    assert sink.state() == ({}, "")
