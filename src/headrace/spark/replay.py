"""Replay past jobs: put the jobs that match an SQL condition again, each exactly once.

A replay first writes the chosen rows to files, and then writes a plan that names the files. When
all jobs are put, the replay writes an outcome. An interrupted replay therefore resumes with the
same jobs, even if the lake has new events.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import time
from dataclasses import dataclass

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.client.client import Client
from headrace.errors import HeadraceError, InvalidArgument
from headrace.lake.batch_lifecycle import LEFTOVER
from headrace.lake.files import still_folders
from headrace.lake.lake import Lake, check_owner
from headrace.lake.manifest import LakeRecord, packed, unpacked
from headrace.operations.values import WriteStatus
from headrace.spark.error_summary import error_summary
from headrace.spark.options import ServerAddress
from headrace.spark.query_check import check_condition

# The server remembers a committed write for 7 days. Resuming an older write could put jobs twice.
RESUMED_WITHIN = dt.timedelta(days=6)

REPLAYS = "replays"
_PLAN, _OUTCOME = "plan.json", "outcome.json"


class ReplayDone(HeadraceError):
    """The same jobs have already been replayed."""


class ReplayTooOld(HeadraceError):
    """An interrupted replay is too old to be resumed safely."""


@dataclass(frozen=True, slots=True)
class ReplayCount:
    """The number of chosen jobs with the same queue, state and failure type.

    `without_data` is the number of these jobs whose payload is not in the lake.
    """

    queue: str
    state: str
    failure_type: str | None
    jobs: int
    without_data: int


class ReplayPlan(LakeRecord, frozen=True):
    """The plan of a replay: the stored rows, and the write that puts the rows as jobs.

    `rate` is the number of jobs per second, or None for no limit.
    """

    id: str
    write: str
    at: dt.datetime
    where: str
    into: str
    rows: int
    rate: float | None = None


class ReplayOutcome(LakeRecord, frozen=True):
    """The result of a replay."""

    at: dt.datetime
    made: int


# Choosing


def choose_jobs(jobs: DataFrame, where: str) -> DataFrame:
    """Return jobs that match an SQL condition. Raises InvalidArgument for an invalid condition."""
    # A condition on failure_type must not match a job that failed first but succeeded later.
    failure_type = F.when(F.col("state") == "failed", F.col("failure"))
    named = jobs.withColumn("failure_type", failure_type)
    try:
        check_condition(jobs.sparkSession, where)
        return named.where(where)
    except (AnalysisException, ParseException) as error:
        raise InvalidArgument(f"where: {error_summary(error)}") from None


def count_jobs(jobs: DataFrame) -> list[ReplayCount]:
    """Return the number of chosen jobs by queue, state and failure type."""
    rows = (
        jobs.groupBy("queue", "state", "failure_type")
        .agg(F.count(F.lit(1)).alias("jobs"), F.count_if(F.col("data").isNull()).alias("without"))
        .orderBy("queue", "state", "failure_type")
        .collect()
    )
    return [ReplayCount(*row) for row in rows]


def unfinished(
    lake: Lake, where: str, into: str, *, again: bool = False, rate: float | None = None
) -> ReplayPlan | None:
    """If a replay of the same jobs into the same queue was interrupted, return its plan, else None.

    Raises ReplayDone if these jobs were already replayed, unless `again` is set. Raises
    ReplayTooOld if the interrupted replay cannot be resumed safely.
    """
    now = dt.datetime.now(dt.UTC)
    same = [row for row in plans(lake) if (row[0].where, row[0].into) == (where, into)]
    for plan, outcome in reversed(same):
        if outcome is None:
            if now - plan.at > RESUMED_WITHIN:
                raise ReplayTooOld(
                    f"replay {plan.id} was started at {plan.at:%Y-%m-%d %H:%M} but not finished; "
                    f"it is unknown whether its {plan.rows} jobs were put. Look for the jobs in "
                    f"queue {into!r}, then remove replays/{plan.id} from the lake"
                )
            _check_rate(plan, rate)
            return plan
    if same and not again:
        plan, outcome = same[-1]
        raise ReplayDone(
            f"these {plan.rows} jobs were already replayed into {into!r} at "
            f"{plan.at:%Y-%m-%d %H:%M}; pass --again to replay the jobs once more"
        )
    return None


def _check_rate(plan: ReplayPlan, rate: float | None) -> None:
    if rate not in (None, plan.rate):
        given = "without a rate" if plan.rate is None else f"with a rate of {plan.rate:g}"
        raise InvalidArgument(
            f"this replay was started {given}, and some of its jobs may already have been put, so "
            "the rate cannot change; leave out --rate"
        )


def store_plan(
    spark: SparkSession, lake: Lake, jobs: DataFrame, where: str, into: str, rate: float | None
) -> ReplayPlan:
    """Store the chosen rows, then the plan, and return the stored plan.

    If two processes store a plan for the same replay at the same time, only the first plan is
    stored, and both processes get that plan.
    """
    same = [plan for plan, _ in plans(lake) if (plan.where, plan.into) == (where, into)]
    replay, write = plan_id(where, into, len(same)), f"replay-{secrets.token_hex(8)}"
    folder = folder_of(replay, write)
    rows = jobs.where(F.col("data").isNotNull()).select(
        F.col("job_id").alias("origin"), "data", "priority", "tags", *_delay(rate)
    )
    rows.write.parquet(f"{lake.files.root}/{folder}")
    lake.files.flush([found.path for found in lake.files.list(folder)])
    plan = ReplayPlan(
        id=replay,
        write=write,
        at=dt.datetime.now(dt.UTC),
        where=where,
        into=into,
        rows=_rows(spark, lake, folder).count(),
        rate=rate,
    )
    return write_plan(lake, plan)


def _rows(spark: SparkSession, lake: Lake, folder: str) -> DataFrame:
    # The path may contain * or [. Spark would expand such a path as a glob pattern.
    reader = spark.read.option("__globPaths__", "false")
    return reader.parquet(f"{lake.files.root}/{folder}")


def _delay(rate: float | None) -> list[Column]:
    """Return a delay column that makes `rate` jobs due per second, oldest jobs first."""
    if rate is None:
        return []
    position = F.row_number().over(Window.orderBy("put_at", "shard", "job_id")) - 1
    return [F.floor(position / rate).alias("delay")]


def run_plan(
    spark: SparkSession, lake: Lake, plan: ReplayPlan, client: Client, server: ServerAddress
) -> WriteStatus:
    """Put the jobs of a plan, each exactly once.

    After an interruption, call this function again with the same plan.
    """
    check_owner(lake, client)
    folder = folder_of(plan.id, plan.write)
    if not lake.files.list(folder):
        raise HeadraceError(
            f"the rows of replay {plan.id} were removed, because choosing the rows took more than "
            f"a day; no job was put. Remove replays/{plan.id} from the lake and run the replay "
            "again"
        )
    rows = _rows(spark, lake, folder)
    rows.write.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        queue=plan.into,
        # Payloads are copied unchanged.
        codec="raw",
        writeId=plan.write,
        lineage="true",
    ).mode("append").save()
    written = client.writes.get(plan.write)
    if written is None:
        raise HeadraceError(
            f"the server does not know the write {plan.write}: the server may have lost its data"
        )
    write_outcome(lake, plan, ReplayOutcome(at=dt.datetime.now(dt.UTC), made=written.made))
    return written


# Files of a replay


def plan_id(where: str, into: str, generation: int) -> str:
    """Return the id of the replay that puts jobs matching this condition into this queue.

    `generation` is the number of earlier replays with the same condition and queue.
    """
    return hashlib.sha256(f"{generation}\0{into}\0{where}".encode()).hexdigest()[:16]


def folder_of(replay: str, write: str) -> str:
    """Return the folder with the rows of a write."""
    return f"{REPLAYS}/{replay}/rows-{write}"


def write_plan(lake: Lake, plan: ReplayPlan) -> ReplayPlan:
    """Store a plan and return it.

    If another process stored a plan for the same replay first, return the plan of that process
    instead.
    """
    path = f"{REPLAYS}/{plan.id}/{_PLAN}"
    if lake.files.create(path, packed(plan)):
        return plan
    lake.files.delete(folder_of(plan.id, plan.write))
    return unpacked(ReplayPlan, path, lake.files.read(path))


def write_outcome(lake: Lake, plan: ReplayPlan, outcome: ReplayOutcome) -> None:
    """Store the outcome of a finished replay."""
    lake.files.create(f"{REPLAYS}/{plan.id}/{_OUTCOME}", packed(outcome))


def plans(lake: Lake) -> list[tuple[ReplayPlan, ReplayOutcome | None]]:
    """Return all replays with their outcomes, oldest first."""
    paths = {file.path for file in lake.files.list(REPLAYS)}
    rows: list[tuple[ReplayPlan, ReplayOutcome | None]] = []
    for path in (path for path in paths if path.endswith(_PLAN)):
        ended = path.removesuffix(_PLAN) + _OUTCOME
        has_ended = ended in paths
        outcome = unpacked(ReplayOutcome, ended, lake.files.read(ended)) if has_ended else None
        rows.append((unpacked(ReplayPlan, path, lake.files.read(path)), outcome))
    return sorted(rows, key=lambda row: row[0].at)


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Remove rows that a crashed process stored without a plan, and return the removed folders."""
    latest = time.time() - older_than
    still = still_folders(lake.files, REPLAYS, latest)
    named = {folder_of(plan.id, plan.write) for plan, _ in plans(lake)} if still else set()
    swept = sorted(still - named)
    for folder in swept:
        lake.files.delete(folder)
    return swept
