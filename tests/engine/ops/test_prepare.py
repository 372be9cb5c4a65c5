"""prepare: parcels become part of a bundle, all of them or none."""

from __future__ import annotations

import pytest

from headrace import Client
from headrace.testing import Clock
from tests.dump import dump
from tests.engine.desk import Desk, names_in

ROW = [("a", b"1")]
OTHER = [("b", b"2")]


def test_what_is_prepared_is_no_job_yet(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)

    assert desk.prepare("b", ("p", 1)) == 1

    assert (hr.job("a"), hr.queues()) == (None, {})
    assert desk.written(bundle="b") == ({}, "prepared")


def test_all_chunks_must_be_there_and_no_more(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)
    desk.stage("q", ROW, OTHER)
    before = dump(hr)

    for parcels in (
        [("p", 1), ("missing", 1)],
        [("p", 2)],
        [("p", 1), ("q", 1)],
        [("q", 3)],
        [("p", 0)],
    ):
        assert desk.prepare("b", *parcels) == "STAGED_LOST"
    assert dump(hr) == before


def test_a_parcel_is_of_one_bundle(hr: Client) -> None:
    desk = Desk(hr)
    desk.prepared("one", "a")
    before = dump(hr)

    assert desk.prepare("two", ("parcel of one", 1)) == "STAGED_LOST"
    assert dump(hr) == before


def test_to_prepare_the_same_again_changes_nothing(hr: Client) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a")
    before = dump(hr)

    assert desk.prepare("b", ("parcel of b", 1)) == 1
    assert dump(hr) == before


@pytest.mark.parametrize("published", [False, True])
def test_what_was_decided_stays_so(hr: Client, *, published: bool) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW, OTHER)
    desk.prepare("b", ("p", 2))
    desk.decide("b")
    if published:
        desk.publish("b")
    before = dump(hr)

    assert desk.prepare("b", ("p", 2)) == 1
    assert dump(hr) == before


def test_what_was_given_up_is_not_prepared_again(hr: Client) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a")
    desk.discard("b")
    before = dump(hr)

    assert desk.prepare("b") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_a_bundle_grows_by_more_calls(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)
    desk.stage("q", OTHER)
    desk.prepare("b", ("p", 1))
    desk.prepare("b", ("p", 1), ("q", 1))
    desk.decide("b")
    desk.publish_all("b")

    assert names_in(hr) == ["a", "b"]


def test_what_is_prepared_does_not_go_with_what_nobody_wants(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)
    clock.tick(86_399)
    desk.prepare("b", ("p", 1))
    clock.tick(86_399)
    hr.sweep()

    assert desk.decide("b")[0] == 1
    assert desk.publish_all("b") is not None
    assert names_in(hr) == ["a"]


def test_at_home_a_bundle_that_is_not_decided_within_a_day_is_given_up(
    hr: Client, clock: Clock
) -> None:
    desk = Desk(hr)
    desk.prepared("b", *"abc")
    clock.tick(86_400)
    hr.queue("other").put(1)

    assert desk.written(bundle="b") == ({}, "aborted")
    assert desk.decide("b") == "WRITE_ABORTED"
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]
    clock.tick(86_400)
    hr.sweep()
    assert desk.written(bundle="b") == ({}, "")


def test_elsewhere_it_waits_for_who_knows_what_was_decided(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.prepared("b", "a", home=False)
    clock.tick(30 * 86_400)
    hr.queue("other").put(1)

    assert desk.written(bundle="b") == ({}, "prepared")
    assert desk.bundles() == [["b", "batch:w"]]
