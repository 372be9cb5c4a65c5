"""Replay: jobs of the past that SQL chooses become new jobs, each once, with their origin."""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import dataclass

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.client.client import Client
from headrace.errors import HeadraceError, InvalidArgument
from headrace.lake.lake import Lake
from headrace.lake.opening import check_whose
from headrace.lake.replays import (
    Outcome,
    Plan,
    folder_of,
    plan_id,
    plans,
    write_outcome,
    write_plan,
)
from headrace.operations.values import Written
from headrace.spark.gist import gist
from headrace.spark.options import Server

# The ledger of the server remembers a write for a week; what is older might be done twice.
RESUMED_WITHIN = dt.timedelta(days=6)


class ReplayDone(HeadraceError):
    """The same jobs were replayed before."""


class ReplayTooOld(HeadraceError):
    """A replay that was interrupted cannot be brought to its end safely."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many jobs of a kind were chosen; without_data: their payload is not in the lake."""

    queue: str
    state: str
    failure_type: str | None
    jobs: int
    without_data: int


def chosen(jobs: DataFrame, where: str) -> DataFrame:
    """The jobs for which an SQL condition holds."""
    # One that failed and went well in the end is not to be done again because of it.
    failure_type = F.when(F.col("state") == "failed", F.col("failure"))
    named = jobs.withColumn("failure_type", failure_type)
    try:
        return named.where(where)
    except (AnalysisException, ParseException) as error:
        raise InvalidArgument(f"where: {gist(error)}") from None


def counted(jobs: DataFrame) -> list[Count]:
    """What was chosen, by queue, state and type of failure."""
    rows = (
        jobs.groupBy("queue", "state", "failure_type")
        .agg(F.count(F.lit(1)).alias("jobs"), F.count_if(F.col("data").isNull()).alias("without"))
        .orderBy("queue", "state", "failure_type")
        .collect()
    )
    return [Count(*row) for row in rows]


def unfinished(
    lake: Lake, where: str, into: str, *, again: bool = False, rate: float | None = None
) -> Plan | None:
    """The same replay, if it was begun and not brought to its end; raises if it was, unless it
    shall be done again.
    """
    now = dt.datetime.now(dt.UTC)
    same = [row for row in plans(lake) if (row[0].where, row[0].into) == (where, into)]
    for plan, outcome in reversed(same):
        if outcome is None:
            if now - plan.at > RESUMED_WITHIN:
                raise ReplayTooOld(
                    f"the replay {plan.id} was begun at {plan.at:%Y-%m-%d %H:%M} and not brought "
                    f"to its end; whether its {plan.rows} jobs were made is no longer known. Look "
                    f"for them in {into!r}, then remove replays/{plan.id} from the lake"
                )
            _check_rate(plan, rate)
            return plan
    if same and not again:
        plan, outcome = same[-1]
        raise ReplayDone(
            f"these jobs were replayed into {into!r} at {plan.at:%Y-%m-%d %H:%M}: "
            f"{plan.rows} of them; --again replays them once more"
        )
    return None


def _check_rate(plan: Plan, rate: float | None) -> None:
    if rate not in (None, plan.rate):
        begun = "without a rate" if plan.rate is None else f"with a rate of {plan.rate:g}"
        raise InvalidArgument(
            f"this replay was begun {begun}, and some of its jobs may be made already: it goes on "
            "only as it was begun; leave --rate out"
        )


def lay_down(
    spark: SparkSession, lake: Lake, jobs: DataFrame, where: str, into: str, rate: float | None
) -> Plan:
    """Writes down what was chosen, then the plan; of two who do it at once one plan holds."""
    same = [plan for plan, _ in plans(lake) if (plan.where, plan.into) == (where, into)]
    replay, write = plan_id(where, into, len(same)), f"replay-{secrets.token_hex(8)}"
    folder = folder_of(replay, write)
    rows = jobs.where(F.col("data").isNotNull()).select(
        F.col("job_id").alias("origin"), "data", "priority", "tags", *_delay(rate)
    )
    rows.write.parquet(f"{lake.files.root}/{folder}")
    lake.files.flush([found.path for found in lake.files.list(folder)])
    plan = Plan(
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
    # The names of a lake's folders may have stars and brackets in them.
    reader = spark.read.option("__globPaths__", "false")
    return reader.parquet(f"{lake.files.root}/{folder}")


def _delay(rate: float | None) -> list[Column]:
    """So many start to wait in a second, in the order in which they were put."""
    if rate is None:
        return []
    position = F.row_number().over(Window.orderBy("put_at", "shard", "job_id")) - 1
    return [F.floor(position / rate).alias("delay")]


def carry_out(
    spark: SparkSession, lake: Lake, plan: Plan, client: Client, server: Server
) -> Written:
    """Makes the jobs of a plan, unless that was done; interrupted, it can be called again."""
    check_whose(lake, client)
    folder = folder_of(plan.id, plan.write)
    if not lake.files.list(folder):
        raise HeadraceError(
            f"what was chosen for the replay {plan.id} is gone, as it took more than a day to "
            f"choose it: nothing was made; remove replays/{plan.id} from the lake and run it again"
        )
    rows = _rows(spark, lake, folder)
    rows.write.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        queue=plan.into,
        # Payloads are copied as they were.
        codec="raw",
        writeId=plan.write,
        lineage="true",
    ).mode("append").save()
    written = client.writes.get(plan.write)
    if written is None:
        raise HeadraceError(f"the server knows nothing of the write {plan.write}: was it emptied?")
    write_outcome(lake, plan, Outcome(at=dt.datetime.now(dt.UTC), made=written.made))
    return written
