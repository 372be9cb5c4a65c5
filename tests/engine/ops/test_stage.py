"""stage: stores rows of a write where no worker sees them."""

from __future__ import annotations

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import Desk
from tests.support.dump import dump

ROW = [("a", b"1")]
OTHER = [("b", b"2"), ("c", b"3")]


def test_staged_rows_are_not_jobs_and_not_in_the_books(hr: Client) -> None:
    desk = Desk(hr)

    assert desk.stage("p", ROW, OTHER) == 2

    assert (hr.job("a"), hr.queues(), list(hr.events())) == (None, {}, [])
    assert hr.audit().balanced


def test_chunks_that_are_there_are_not_laid_down_again(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW, OTHER)
    before = dump(hr)

    assert desk.stage("p", ROW, OTHER) == 2
    assert desk.stage("p", OTHER, position=1) == 2
    assert dump(hr) == before


def test_new_chunks_follow_existing_chunks(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)

    assert desk.stage("p", ROW, OTHER, position=1) == 3


def test_chunk_after_a_gap_is_refused(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)
    before = dump(hr)

    assert desk.stage("p", ROW, position=2) == "STAGED_LOST"
    assert desk.stage("q", ROW, position=1) == "STAGED_LOST"
    assert dump(hr) == before


def test_nothing_is_added_to_a_parcel_of_a_bundle(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW, OTHER)
    desk.prepare("b", ("p", 2))
    before = dump(hr)

    for position in (0, 1, 2, 3):
        assert desk.stage("p", ROW, position=position) == "STAGED_LOST"
    assert dump(hr) == before


def test_late_call_adds_nothing_to_a_published_bundle(hr: Client) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW, OTHER)
    desk.prepare("b", ("p", 2))
    desk.decide("b")
    desk.publish("b")

    assert desk.stage("p", OTHER, position=1) == "STAGED_LOST"
    assert desk.publish_all("b") is not None
    assert hr.queue("mail").counts().waiting == 3


def test_staged_rows_expire_a_day_after_the_last_chunk(hr: Client, clock: Clock) -> None:
    desk = Desk(hr)
    desk.stage("p", ROW)
    clock.tick(86_399)
    desk.stage("p", OTHER, position=1)
    clock.tick(86_399)
    hr.sweep()
    assert desk.stage("p", ROW, position=2) == 3

    clock.tick(86_400)
    hr.sweep()

    assert dump(hr).keys() == {hr.core.key(0, "meta")}
