"""publish: each row of a committed write becomes one job, or the write is discarded."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from headrace import Client, Queue
from headrace.engine.record import decode_record
from headrace.operations.putting import Item
from headrace.testing import Clock, open_with_clock
from tests.engine.support.sink_scripts import SinkScripts, names_in
from tests.model.harness import GENERAL_PATH, opened
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import found, ids


def test_a_chunk_becomes_jobs_in_one_step(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1"), ("b", b"2")], [("c", b'"three"')])
    sink.prepare("t", ("p", 2))
    sink.commit("t", rows=3)

    assert sink.publish("t") == [1, 2, 0, 0, 0]
    assert names_in(hr) == ["a", "b"]
    assert sink.publish("t")[0] == 0
    assert names_in(hr) == ["a", "b", "c"]
    assert found(hr, "c").data == "three"
    assert hr.audit().balanced


def test_transaction_is_published_once(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    sink.publish_all("t")
    hr.cancel("a")
    before = dump(hr)

    for _ in range(3):
        assert sink.publish("t")[0] == 0
    assert dump(hr) == before


def test_nothing_is_published_before_the_commit(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a")
    before = dump(hr)

    assert sink.publish("t") == "NOT_COMMITTED"
    assert sink.publish("never was") == [0, 0, 0, 0, 0]
    assert dump(hr) == before


def test_discarded_transaction_is_not_published(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a")
    sink.discard("t")
    before = dump(hr)

    assert sink.publish("t") == "WRITE_ABORTED"
    assert dump(hr) == before


def test_staged_attempts_are_published_in_the_order_of_their_partitions(hr: Client) -> None:
    sink = SinkScripts(hr)
    names = [f"attempt{number}" for number in range(12)]
    for number in range(12):
        sink.stage(names[number], [(f"job{number}", b"1")])
    sink.prepare("t", *[(name, 1) for name in names])
    sink.commit("t")
    sink.publish_all("t")

    assert names_in(hr) == [f"job{number}" for number in range(12)]


def test_publish_wakes_workers_and_logs_events_like_put(hr: Client, url: str) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a", "c")
    with listening(hr, url, "queue:mail") as workers:
        sink.publish_all("t")

        assert workers.messages() == ["work 2"]
    [first, _] = hr.events()
    assert (first.kind, first.job_id, first.queue, first.data) == ("put", "a", "mail", b"1")
    assert ids(hr.queue("mail").pop("w", count=5)) == ["a", "c"]


def test_each_row_can_have_its_own_options(hr: Client) -> None:
    sink = SinkScripts(hr)
    own = {"priority": 3, "tags": ["vip"], "retries": 7, "key": "k", "origin": "older"}
    sink.stage("p", [("x", b"1", "", own), ("later", b"2", "", {"delay": 5000}), ("y", b"3")])
    sink.prepare("t", ("p", 1))
    sink.commit("t")
    sink.publish_all("t")

    job = found(hr, "x")
    assert (job.priority, job.tags, job.retries, job.key) == (3, ["vip"], 7, "k")
    assert job.origin == "older"
    assert found(hr, "later").state == "scheduled"
    assert found(hr, "y").origin is None
    assert [event.origin for event in hr.events()] == ["older", None, None]
    assert hr.audit().balanced


def test_row_can_have_throttles_a_start_limit_and_a_result_ttl(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    sink = SinkScripts(hr)
    late = ("late", b"1", "", {"start_within": 5000})
    kept = ("kept", b"2", "", {"throttles": ["api"], "result_ttl": 60_000})
    sink.stage("p", [late, kept])
    sink.prepare("t", ("p", 1))
    sink.commit("t")
    sink.publish_all("t")
    clock.tick(6)

    [lease] = queue.pop("w", count=5)
    assert (lease.job.id, lease.job.throttles) == ("kept", ["api"])
    lease.complete(result=3)
    assert hr.job("late") is None
    result = hr.result("kept")
    assert result is not None
    assert result.value == 3
    assert hr.audit().balanced


# jobs that exist


@pytest.mark.parametrize(
    ("policy", "counts", "data"),
    [
        ("move", [0, 1, 2, 0, 0], [9, 9, 5]),
        ("replace", [0, 2, 1, 0, 0], None),
        ("reject", [0, 1, 0, 0, 2], [1, 2, 5]),
    ],
)
def test_existing_jobs_are_counted_by_outcome(
    hr: Client, queue: Queue, policy: str, counts: list[int], data: list[int] | None
) -> None:
    sink = SinkScripts(hr)
    queue.put(1, id="a")
    hr.queue("other").put(2, id="b")
    sink.stage("p", [("a", b"9"), ("b", b"9"), ("new", b"5")])
    sink.prepare("t", ("p", 1), on_exists=policy)
    sink.commit("t")
    sink.publish_all("t")

    entry, _ = sink.state()
    counted = [int(entry[name]) for name in ("made", "moved", "replaced", "skipped")]
    assert sum(counted) == 3
    if data is not None:
        assert counted == counts[1:]
        assert [found(hr, name).data for name in ("a", "b", "new")] == data
    assert hr.audit().balanced


def test_a_running_job_is_not_replaced_but_skipped(hr: Client, queue: Queue) -> None:
    sink = SinkScripts(hr)
    queue.put(1, id="a")
    [lease] = queue.pop("w")
    sink.stage("p", [("a", b"9")])
    sink.prepare("t", ("p", 1), on_exists="replace")
    sink.commit("t")
    sink.publish_all("t")

    assert lease.complete() == "complete"
    written = hr.writes.get("w")
    assert written is not None
    assert (written.made, written.skipped) == (0, 1)


def test_row_whose_unique_value_is_taken_is_skipped(hr: Client, queue: Queue) -> None:
    sink = SinkScripts(hr)
    queue.put(1, id="holder", unique="u")
    hr.queue("other").put(1, id="mover", unique="u")
    sink.stage_and_commit("t", "mover")
    sink.publish_all("t")

    written = hr.writes.get("w")
    assert written is not None
    assert written.skipped == 1
    assert found(hr, "mover").queue == "other"
    assert hr.audit().balanced


def test_row_with_an_existing_id_becomes_a_job_under_its_spare_id(hr: Client, queue: Queue) -> None:
    sink = SinkScripts(hr)
    queue.put(1, id="a")
    sink.stage("p", [("a", b"9", "{a}~2", None)])
    sink.prepare("t", ("p", 1), on_exists="duplicate")
    sink.commit("t")
    sink.publish_all("t")

    assert found(hr, "{a}~2").data == 9
    assert found(hr, "a").data == 1


def test_repeated_id_is_put_twice_as_with_put(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1"), ("a", b"2")])
    sink.prepare("t", ("p", 1))
    sink.commit("t")
    sink.publish_all("t")

    written = hr.writes.get("w")
    assert written is not None
    assert (written.made, written.moved) == (1, 1)
    assert found(hr, "a").data == 2


# the short path


LARGE = b'"' + b"x" * 3000 + b'"'
HUGE = b'"' + b"x" * 20_000 + b'"'


def published(url: str, swaps: dict[str, str], chunk: list[Item], **settings: Any) -> Any:
    client, clock = opened(url, swaps)
    with client:
        sink = SinkScripts(client)
        client.queue("mail").configure(**settings)
        sink.stage_and_commit("first", "there", write="batch:first")
        sink.publish_all("first")
        clock.tick(1)
        sink.stage("p", chunk, [("last", b"1")])
        sink.prepare("t", ("p", 2))
        sink.commit("t", rows=len(chunk) + 1)
        clock.tick(1)
        answers = [sink.publish("t"), sink.publish("t"), sink.publish("t")]
        return answers, {
            key.partition("}:")[2]: _read(key, *it) for key, it in dump(client).items()
        }


def _read(key: str, kind: str, value: Any) -> Any:
    # A table of Lua has no order, so the same job can be packed in several ways.
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
def test_short_path_does_what_the_general_path_does(
    url: str, chunk: list[Item], settings: dict[str, Any]
) -> None:
    short = published(url, {}, chunk, **settings)
    general = published(url, GENERAL_PATH, chunk, **settings)

    assert short == general


def test_a_clock_that_was_set_back_does_not_break_the_order_of_events(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    sink = SinkScripts(hr)
    queue.put(1)
    clock.tick(-3600)
    sink.stage_and_commit("t", "a")
    sink.publish_all("t")

    [_, event] = hr.events()
    assert (event.job_id, event.at) == ("a", clock.now)


# finalize


def test_commit_log_has_the_outcome(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_prepare("t", "a", "c")
    sink.commit("t", rows=2)
    clock.tick(1)
    sink.publish_all("t")

    written = hr.writes.get("w")
    assert written is not None
    assert (written.id, written.queue, written.rows, written.batch) == ("w", "mail", 2, None)
    assert (written.made, written.moved, written.replaced, written.skipped) == (2, 0, 0, 0)
    assert written.published_at == clock.now
    assert hr.writes.list() == [written]
    assert hr.writes.get("other") is None
    assert hr.writes.get("w", stream=True) is None


def test_a_write_is_not_finalized_before_it_is_published(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    before = dump(hr)

    assert sink.finalize("t", 5, 0, 0, 0)["state"] == "committed"
    assert dump(hr) == before


def test_second_finalize_changes_nothing(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    sink.publish_all("t")
    before = dump(hr)

    assert sink.finalize("t", 5, 5, 5, 5)["made"] == "1"
    assert dump(hr) == before


# discard


def test_committed_transaction_is_not_discarded(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    before = dump(hr)

    assert sink.discard("t", "attempt of t") == "ALREADY_COMMITTED"
    assert sink.discard("t", "attempt of t", coordinator=False) == "ALREADY_COMMITTED"
    assert dump(hr) == before


def test_staged_and_prepared_rows_can_be_discarded(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("loose", [("a", b"1")])
    sink.stage_and_prepare("t", "c")
    sink.stage_and_commit("other", "d", write="batch:other")

    assert sink.discard("t", "loose", "attempt of t", "attempt of other", "missing") == 1

    staged = [key.partition("}:")[2] for key in dump(hr) if "}:staged" in key]
    assert staged == ["staged:attempt of other"]
    assert sink.commit("t") == "WRITE_ABORTED"


def test_large_transaction_is_discarded_in_several_calls(hr: Client) -> None:
    sink = SinkScripts(hr)
    attempts = [(f"p{number}", 1) for number in range(250)]
    for name, _ in attempts:
        sink.stage(name, [("a", b"1")])
    sink.prepare("t", *attempts)

    assert [sink.discard("t") for _ in range(3)] == [0, 0, 1]
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]


def test_transaction_discarded_before_its_prepare_stays_discarded(hr: Client) -> None:
    sink = SinkScripts(hr)
    sink.stage("p", [("a", b"1")])
    sink.discard("t")

    assert sink.prepare("t", ("p", 1)) == "WRITE_ABORTED"


def test_discarded_transaction_leaves_nothing_on_other_shards(hr: Client) -> None:
    sink = SinkScripts(hr)
    before = dump(hr)
    sink.stage_and_prepare("t", "a", coordinator=False)

    assert sink.discard("t", coordinator=False) == 1
    assert sink.discard("never was", coordinator=False) == 1
    assert dump(hr) == before


# several shards


def test_an_open_write_is_finished_by_a_sweep_on_all_shards(valkey_url: str) -> None:
    hr, clock = open_with_clock(valkey_url, shards=4)
    with hr:
        names = [f"job{number}" for number in range(40)]
        coordinator = hr.core.shard_of("batch:w")
        sinks = [
            SinkScripts(hr, shard)
            for shard in (coordinator, *(n for n in range(4) if n != coordinator))
        ]
        for sink in sinks:
            mine = [name for name in names if hr.core.shard_of(name) == sink.shard]
            sink.stage_and_prepare("t", *mine, coordinator=sink.shard == coordinator)
        sinks[0].commit("t", rows=40)
        sinks[1].publish("t")
        hr.sweep()
        assert 0 < hr.queue("mail").counts().waiting < 40

        clock.tick(2)
        hr.sweep()

        assert hr.queue("mail").counts().waiting == 40
        written = hr.writes.get("w")
        assert written is not None
        assert (written.made, written.published_at) == (40, clock.now)
        assert hr.audit().balanced
        assert not [key for key in dump(hr) if "transaction" in key.partition("}:")[2]]


def test_sweep_removes_uncommitted_transactions_on_all_shards(valkey_url: str) -> None:
    hr, clock = open_with_clock(valkey_url, shards=4)
    with hr:
        coordinator = hr.core.shard_of("batch:w")
        for shard in range(4):
            SinkScripts(hr, shard).stage_and_prepare(
                "t", f"job{shard}", coordinator=shard == coordinator
            )
        clock.tick(86_399)
        hr.sweep()
        assert len([key for key in dump(hr) if "}:staged" in key]) == 4

        clock.tick(1)
        hr.sweep()

        assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]
        assert SinkScripts(hr, coordinator).commit("t") == "WRITE_ABORTED"
