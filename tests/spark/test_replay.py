from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace
from headrace import Client, LakeRefused
from headrace.errors import InvalidArgument
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark import replay
from headrace.spark.lake_events import lake_events
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.spark.query import open_history
from headrace.spark.replay import ReplayOutcome, ReplayPlan, plans, write_outcome, write_plan
from headrace.spark.tables import jobs as table_of_jobs

FAILED = "queue = 'mail' and failure_type = 'Timeout' and state = 'failed'"


@dataclass(frozen=True)
class Past:
    """A namespace with failed jobs, and its lake."""

    hr: Client
    server: ServerAddress
    lake: Lake
    jobs: DataFrame
    timeouts: list[str]


@pytest.fixture(scope="module")
def past(
    spark: SparkSession, valkey_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Past]:
    with headrace.connect(valkey_url, namespace=uuid4().hex, shards=2) as hr:
        queue = hr.queue("mail")
        hr.queue("mail").configure(event_data=100)
        ids = queue.put_many([{"n": n} for n in range(6)], priority=3, tags=["vip"])
        large = queue.put({"n": "x" * 200}, priority=4)
        leases = {lease.id: lease for lease in queue.pop("ada", count=10)}
        for job_id in (*ids[:3], large):
            leases.pop(job_id).fail("Timeout", "no answer")
        leases.pop(ids[3]).fail("BadInput", "no such user")
        hr.leases.complete(list(leases.values()))
        server = ServerAddress(url=valkey_url, namespace=hr.core.namespace)
        files = LocalFiles(tmp_path_factory.mktemp("replay") / "lake")
        assert [batch.events for batch in sync(spark, server, files)] == [23]
        lake = Lake.open(files)
        events = lake_events(spark, lake, lake.snapshot())
        yield Past(hr, server, lake, table_of_jobs(events), ids[:3])


def laid_down(spark: SparkSession, past: Past, into: str, rate: float | None = None) -> ReplayPlan:
    jobs = replay.choose_jobs(past.jobs, FAILED)
    return replay.store_plan(spark, past.lake, jobs, FAILED, into, rate)


def test_chosen_jobs_are_counted_by_queue_state_and_failure(past: Past) -> None:
    counts = replay.count_jobs(replay.choose_jobs(past.jobs, "queue = 'mail'"))
    assert [msgspec.to_builtins(count) for count in counts] == [
        {
            "queue": "mail",
            "state": "complete",
            "failure_type": None,
            "jobs": 2,
            "without_data": 0,
        },
        {
            "queue": "mail",
            "state": "failed",
            "failure_type": "BadInput",
            "jobs": 1,
            "without_data": 0,
        },
        {
            "queue": "mail",
            "state": "failed",
            "failure_type": "Timeout",
            "jobs": 4,
            "without_data": 1,
        },
    ]


def test_replayed_jobs_have_their_origin(spark: SparkSession, past: Past) -> None:
    plan = laid_down(spark, past, "again")
    assert plan.rows == 3
    assert replay.run_plan(spark, past.lake, plan, past.hr, past.server).made == 3
    made = past.hr.queue("again").jobs("waiting").jobs
    assert sorted(job.origin or "" for job in made) == sorted(past.timeouts)
    originals = {job_id: past.hr.job(job_id) for job_id in past.timeouts}
    for job in made:
        original = originals[job.origin or ""]
        assert original is not None
        assert (job.payload, job.priority, job.tags) == (original.payload, 3, ["vip"])
        assert job.id != original.id


def test_replay_that_dies_at_any_step_puts_each_job_once(
    spark: SparkSession, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = laid_down(spark, past, "once")
    assert replay.unfinished(past.lake, FAILED, "once") == plan

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(replay, "write_outcome", die)
        with pytest.raises(KeyboardInterrupt):
            replay.run_plan(spark, past.lake, plan, past.hr, past.server)
    assert replay.unfinished(past.lake, FAILED, "once") == plan
    assert replay.run_plan(spark, past.lake, plan, past.hr, past.server).made == 3
    assert past.hr.queue("once").counts().waiting == 3
    with pytest.raises(replay.ReplayDone, match="--again"):
        replay.unfinished(past.lake, FAILED, "once")
    assert replay.unfinished(past.lake, FAILED, "once", again=True) is None
    assert replay.unfinished(past.lake, FAILED, "elsewhere") is None


def test_two_replays_at_once_share_one_plan(spark: SparkSession, past: Past) -> None:
    first, second = laid_down(spark, past, "together"), None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "plans", lambda _lake: [])
        second = laid_down(spark, past, "together")
    assert second == first
    for plan in (first, second):
        assert replay.run_plan(spark, past.lake, plan, past.hr, past.server).made == 3
    assert past.hr.queue("together").counts().waiting == 3


def test_rate_delays_jobs_of_replay(spark: SparkSession, past: Past) -> None:
    plan = laid_down(spark, past, "slowly", rate=2)
    replay.run_plan(spark, past.lake, plan, past.hr, past.server)
    counts = past.hr.queue("slowly").counts()
    assert (counts.waiting, counts.scheduled) == (2, 1)


def test_replay_into_another_namespace_is_refused(
    spark: SparkSession, past: Past, valkey_url: str
) -> None:
    plan = ReplayPlan(
        id="4567", write="w", at=dt.datetime.now(dt.UTC), where="true", into="again", rows=1
    )
    with headrace.connect(valkey_url, namespace=uuid4().hex) as other:
        elsewhere = ServerAddress(url=valkey_url, namespace=other.core.namespace)
        with pytest.raises(LakeRefused, match="separate lake"):
            replay.run_plan(spark, past.lake, plan, other, elsewhere)
        with (
            pytest.raises(LakeRefused, match="separate lake"),
            open_history(spark, past.lake, elsewhere),
        ):
            pass


@pytest.mark.parametrize(
    "where", ["reflect('java.lang.System', 'getenv') is null", "id in (select id from jobs)"]
)
def test_condition_that_could_do_more_is_refused(past: Past, where: str) -> None:
    with pytest.raises(InvalidArgument, match="queries cannot"):
        replay.choose_jobs(past.jobs, where)


@pytest.mark.parametrize("where", ["queue = ", "colour = 'red'", "", "1 + 1"])
def test_invalid_condition_is_refused(past: Past, where: str) -> None:
    with pytest.raises(InvalidArgument, match="where") as refused:
        replay.choose_jobs(past.jobs, where)
    assert "\n" not in str(refused.value)


def test_replay_older_than_commit_log_is_refused(tmp_path: object) -> None:
    lake = Lake.create(LocalFiles(str(tmp_path)), "shop", [1])
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=8)
    plan = ReplayPlan(id="0123", write="w", at=old, where="true", into="again", rows=3)
    write_plan(lake, plan)
    assert plans(lake) == [(plan, None)]
    with pytest.raises(replay.ReplayTooOld, match="replays/0123"):
        replay.unfinished(lake, "true", "again")
    outcome = ReplayOutcome(at=old, made=3)
    write_outcome(lake, plan, outcome)
    assert plans(lake) == [(plan, outcome)]
