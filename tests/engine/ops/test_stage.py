"""stage: stores rows of a write where no worker sees them."""

from __future__ import annotations

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import SinkScripts
from tests.support.dump import dump

ROW = [("a", b"1")]
OTHER = [("b", b"2"), ("c", b"3")]


def test_staged_rows_are_not_jobs_and_not_in_the_books(hr: Client) -> None:
    sink = SinkScripts(hr)

    assert sink.stage("p", ROW, OTHER) == 2

    assert (hr.job("a"), hr.queues(), list(hr.events())) == (None, {}, [])
    assert hr.audit().balanced


def test_chunks_that_exist_are_not_staged_again(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW, OTHER)
    before = dump(hr)

    assert sink.stage("p", ROW, OTHER) == 2
    assert sink.stage("p", OTHER, position=1) == 2
    assert dump(hr) == before


def test_new_chunks_follow_existing_chunks(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)

    assert sink.stage("p", ROW, OTHER, position=1) == 3


def test_chunk_after_a_gap_is_refused(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)
    before = dump(hr)

    assert sink.stage("p", ROW, position=2) == "STAGED_LOST"
    assert sink.stage("q", ROW, position=1) == "STAGED_LOST"
    assert dump(hr) == before


def test_nothing_is_added_to_a_staged_attempt_of_a_transaction(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW, OTHER)
    sink.prepare("t", ("p", 2))
    before = dump(hr)

    for position in (0, 1, 2, 3):
        assert sink.stage("p", ROW, position=position) == "STAGED_LOST"
    assert dump(hr) == before


def test_late_call_adds_nothing_to_a_published_transaction(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW, OTHER)
    sink.prepare("t", ("p", 2))
    sink.commit("t")
    sink.publish("t")

    assert sink.stage("p", OTHER, position=1) == "STAGED_LOST"
    assert sink.publish_all("t") is not None
    assert hr.queue("mail").counts().waiting == 3


def test_staged_rows_expire_a_day_after_the_last_chunk(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)
    clock.tick(86_399)
    sink.stage("p", OTHER, position=1)
    clock.tick(86_399)
    hr.sweep()
    assert sink.stage("p", ROW, position=2) == 3

    clock.tick(86_400)
    hr.sweep()

    assert dump(hr).keys() == {hr.core.key(0, "meta")}
