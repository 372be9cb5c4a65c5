"""Checks that random drivers do not reach: options, policies, order and retention."""

from __future__ import annotations

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import Desk, names_in
from tests.model.harness import opened
from tests.support.dump import dump
from tests.support.jobs import found

DAY = 86_400


def scripts_of_writes_work(url: str, swaps: dict[str, str]) -> None:
    """Raise if a script of the sink does not do what it should."""
    for check in (_rows_are_whole, _what_exists, _parcels, _refused, _goes_on, _kept):
        client, clock = opened(url, swaps)
        with client:
            check(client, clock)


def _rows_are_whole(hr: Client, _: Clock) -> None:
    desk = Desk(hr)
    desk.stage("p", [("x", b'"one"', "", {"priority": 3}), ("y", b'"two"')])
    desk.prepare("b", ("p", 1))
    desk.decide("b")
    desk.publish_all("b")
    assert [(found(hr, name).data, found(hr, name).priority) for name in "xy"] == [
        ("one", 3),
        ("two", 0),
    ]


def _what_exists(hr: Client, _: Clock) -> None:
    desk = Desk(hr)
    hr.queue("mail").put(1, id="there")
    desk.stage("p", [("there", b"2"), ("new", b"3")])
    desk.prepare("b", ("p", 1), on_exists="reject")
    desk.decide("b")
    desk.publish_all("b")
    written = hr.writes.get("w")
    assert written is not None
    assert (written.made, written.moved, written.skipped) == (1, 0, 1)
    assert found(hr, "there").data == 1


def _parcels(hr: Client, _: Clock) -> None:
    desk = Desk(hr)
    names = [f"p{number}" for number in range(12)]
    for name in names:
        assert desk.stage(name, [(f"{name}a", b"1")], [(f"{name}b", b"1")]) == 2
        assert desk.stage(name, [(f"{name}b", b"1")], position=1) == 2
    assert desk.stage("p0", [("far", b"1")], position=3) == "STAGED_LOST"
    assert desk.prepare("b", (names[0], 3)) == "STAGED_LOST"
    assert desk.prepare("b", *[(name, 2) for name in names]) == 1
    assert desk.publish("b") == "NOT_COMMITTED"
    desk.decide("b")
    desk.publish_all("b")
    assert names_in(hr) == [f"{name}{one}" for name in names for one in "ab"]


def _refused(hr: Client, _: Clock) -> None:
    desk = Desk(hr)
    assert desk.decide("never was") == "WRITE_ABORTED"
    desk.decided("other", "a", write="batch:other")
    desk.prepared("b", "c")
    assert desk.discard("b", "parcel of other") == 1
    assert desk.prepare("b") == "WRITE_ABORTED"
    desk.publish_all("other")
    assert names_in(hr) == ["a"]


def _goes_on(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.stage("p", [("a", b"1")], [("b", b"1")])
    desk.prepare("bundle", ("p", 2))
    desk.decide("bundle")
    clock.tick(2)
    for _ in range(2):
        hr.queue("other").put("something else")
        clock.tick(0.02)
    assert names_in(hr) == ["a", "b"]
    desk.prepared("elsewhere", "c", write="batch:far")
    desk.decide("elsewhere", "batch:far")
    hr.core.transport.send([(0, ("HSET", hr.core.key(0, "meta"), "shards", "2"))])
    desk.publish_all("elsewhere")
    clock.tick(7 * DAY)
    hr.queue("other").put("another")
    assert desk.written("batch:far")[0]["state"] == "committed"


def _kept(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.stage("loose", [("a", b"1")])
    desk.decided("b", "c")
    assert desk.conclude("b", 1, 0, 0, 0)["state"] == "committed"
    assert desk.publish("b")[0] == 0
    assert desk.written()[0]["state"] == "published"
    desk.prepared("short", "e", write="batch:short")
    desk.decide("short", "batch:short", rows=3, parts="0=3")
    desk.publish_all("short")
    assert desk.written("batch:short")[0]["lost"] == "0=2"
    desk.prepared("given up", "d", write="batch:other")
    desk.discard("given up")
    assert desk.publish("given up") == "WRITE_ABORTED"
    for _ in range(4):
        clock.tick(2 * DAY)
        hr.sweep()
    left = {key.partition("}:")[2].partition(":")[0] for key in dump(hr)}
    assert not left & {"staged", "attempts", "transaction", "transactions", "write", "writes"}
