"""prepare: adds all staged attempts to a transaction, or none."""

from __future__ import annotations

import pytest

from headrace import Client
from headrace.testing import Clock
from tests.engine.support.sink_scripts import SinkScripts, names_in
from tests.support.dump import dump

ROW = [("a", b"1")]
OTHER = [("b", b"2")]


def test_prepared_rows_are_not_jobs_yet(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)

    assert sink.prepare("t", ("p", 1)) == 1

    assert (hr.job("a"), hr.queues()) == (None, {})
    assert sink.state(transaction="t") == ({}, "prepared")


def test_prepare_refuses_missing_and_additional_chunks(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)
    sink.stage("q", ROW, OTHER)
    before = dump(hr)

    for attempts in (
        [("p", 1), ("missing", 1)],
        [("p", 2)],
        [("p", 1), ("q", 1)],
        [("q", 3)],
        [("p", 0)],
    ):
        assert sink.prepare("t", *attempts) == "STAGED_LOST"
    assert dump(hr) == before


def test_staged_attempt_belongs_to_one_transaction(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("one", "a")
    before = dump(hr)

    assert sink.prepare("two", ("attempt of one", 1)) == "STAGED_LOST"
    assert dump(hr) == before


def test_second_prepare_changes_nothing(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a")
    before = dump(hr)

    assert sink.prepare("t", ("attempt of t", 1)) == 1
    assert dump(hr) == before


@pytest.mark.parametrize("published", [False, True])
def test_committed_transaction_stays_committed(hr: Client, *, published: bool) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW, OTHER)
    sink.prepare("t", ("p", 2))
    sink.commit("t")
    if published:
        sink.publish("t")
    before = dump(hr)

    assert sink.prepare("t", ("p", 2)) == 1
    assert dump(hr) == before


def test_discarded_transaction_is_not_prepared_again(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a")
    sink.discard("t")
    before = dump(hr)

    assert sink.prepare("t") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_more_calls_add_staged_attempts_to_a_transaction(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)
    sink.stage("q", OTHER)
    sink.prepare("t", ("p", 1))
    sink.prepare("t", ("p", 1), ("q", 1))
    sink.commit("t")
    sink.publish_all("t")

    assert names_in(hr) == ["a", "b"]


def test_prepared_transaction_does_not_expire_with_staged_rows(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", ROW)
    clock.tick(86_399)
    sink.prepare("t", ("p", 1))
    clock.tick(86_399)
    hr.sweep()

    assert sink.commit("t")[0] == 1
    assert sink.publish_all("t") is not None
    assert names_in(hr) == ["a"]


def test_coordinator_aborts_a_transaction_not_committed_within_a_day(
    hr: Client, clock: Clock
) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", *"abc")
    clock.tick(86_400)
    hr.queue("other").put(1)

    assert sink.state(transaction="t") == ({}, "aborted")
    assert sink.commit("t") == "WRITE_ABORTED"
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]
    clock.tick(86_400)
    hr.sweep()
    assert sink.state(transaction="t") == ({}, "")


def test_other_shards_wait_for_the_coordinator(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a", coordinator=False)
    clock.tick(30 * 86_400)
    hr.queue("other").put(1)

    assert sink.state(transaction="t") == ({}, "prepared")
    assert sink.open_transactions() == [["t", "batch:w"]]
