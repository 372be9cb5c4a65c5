"""Checks that random drivers do not reach: options, policies, order and retention."""

from __future__ import annotations

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import SinkScripts, names_in
from tests.model.harness import opened
from tests.support.dump import dump
from tests.support.jobs import found

DAY = 86_400


def scripts_of_writes_work(url: str, swaps: dict[str, str]) -> None:
    """Raise if a script of the sink has a wrong effect."""
    for check in (_rows_are_whole, _existing_jobs, _attempts, _refused, _resumed, _expired):
        client, clock = opened(url, swaps)
        with client:
            check(client, clock)


def _rows_are_whole(hr: Client, _: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("x", b'"one"', "", {"priority": 3}), ("y", b'"two"')])
    sink.prepare("t", ("p", 1))
    sink.commit("t")
    sink.publish_all("t")
    assert [(found(hr, name).data, found(hr, name).priority) for name in "xy"] == [
        ("one", 3),
        ("two", 0),
    ]


def _existing_jobs(hr: Client, _: Clock) -> None:
    sink = SinkScripts(hr)
    hr.queue("mail").put(1, id="there")
    sink.stage("p", [("there", b"2"), ("new", b"3")])
    sink.prepare("t", ("p", 1), on_exists="reject")
    sink.commit("t")
    sink.publish_all("t")
    written = hr.writes.get("w")
    assert written is not None
    assert (written.made, written.moved, written.skipped) == (1, 0, 1)
    assert found(hr, "there").data == 1


def _attempts(hr: Client, _: Clock) -> None:
    sink = SinkScripts(hr)
    names = [f"p{number}" for number in range(12)]
    for name in names:
        assert sink.stage(name, [(f"{name}a", b"1")], [(f"{name}b", b"1")]) == 2
        assert sink.stage(name, [(f"{name}b", b"1")], position=1) == 2
    assert sink.stage("p0", [("far", b"1")], position=3) == "STAGED_LOST"
    assert sink.prepare("t", (names[0], 3)) == "STAGED_LOST"
    assert sink.prepare("t", *[(name, 2) for name in names]) == 1
    assert sink.publish("t") == "NOT_COMMITTED"
    sink.commit("t")
    sink.publish_all("t")
    assert names_in(hr) == [f"{name}{one}" for name in names for one in "ab"]


def _refused(hr: Client, _: Clock) -> None:
    sink = SinkScripts(hr)
    assert sink.commit("never was") == "WRITE_ABORTED"
    sink.stage_and_commit("other", "a", write="batch:other")
    sink.stage_and_prepare("t", "c")
    assert sink.discard("t", "attempt of other") == 1
    assert sink.prepare("t") == "WRITE_ABORTED"
    sink.publish_all("other")
    assert names_in(hr) == ["a"]


def _resumed(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1")], [("b", b"1")])
    sink.prepare("t", ("p", 2))
    sink.commit("t")
    clock.tick(2)
    for _ in range(2):
        hr.queue("other").put("something else")
        clock.tick(0.02)
    assert names_in(hr) == ["a", "b"]
    sink.stage_and_prepare("elsewhere", "c", write="batch:far")
    sink.commit("elsewhere", "batch:far")
    hr.core.transport.send([(0, ("HSET", hr.core.key(0, "meta"), "shards", "2"))])
    sink.publish_all("elsewhere")
    clock.tick(7 * DAY)
    hr.queue("other").put("another")
    assert sink.state("batch:far")[0]["state"] == "committed"


def _expired(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("loose", [("a", b"1")])
    sink.stage_and_commit("t", "c")
    assert sink.finalize("t", 1, 0, 0, 0)["state"] == "committed"
    assert sink.publish("t")[0] == 0
    assert sink.state()[0]["state"] == "published"
    sink.stage_and_prepare("short", "e", write="batch:short")
    sink.commit("short", "batch:short", rows=3, parts="0=3")
    sink.publish_all("short")
    assert sink.state("batch:short")[0]["lost"] == "0=2"
    sink.stage_and_prepare("aborted", "d", write="batch:other")
    sink.discard("aborted")
    assert sink.publish("aborted") == "WRITE_ABORTED"
    for _ in range(4):
        clock.tick(2 * DAY)
        hr.sweep()
    left = {key.partition("}:")[2].partition(":")[0] for key in dump(hr)}
    assert not left & {"staged", "attempts", "transaction", "transactions", "write", "writes"}
