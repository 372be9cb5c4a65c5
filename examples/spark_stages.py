"""A pipeline whose stages are queues: two ordinary workers with Spark between them.

    python examples/spark_stages.py

A reading is one job that passes through the queues clean, score and store:

- clean: a loop around a client parses texts and moves each job on with complete(next="score");
- score: Spark tasks score a thousand readings at once and move each job on as a task call;
- store: a worker, `headrace work spark_stages:app`, runs the task calls.

The example uses the server of HEADRACE_URL, or the embedded server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import headrace

if TYPE_CHECKING:
    import pyarrow as pa

NAMESPACE = "stages"
READINGS = 5000

app = headrace.App(NAMESPACE)


@app.task(queue="store", retries=2)
def store(sensor: str, score: float) -> str:
    """Store a reading: the last stage, an ordinary task."""
    return f"{sensor} {'high' if score > 1 else 'usual'}"


def clean(hr: headrace.Client) -> None:
    """Parse readings: the first stage, a plain worker loop without tasks."""
    queue = hr.queue("clean")
    while leases := queue.pop("cleaner", count=500):
        for lease in leases:
            sensor, _, reading = lease.data.partition("=")
            try:
                lease.complete(data={"sensor": sensor, "value": float(reading)}, next="score")
            except ValueError:
                lease.fail("NoNumber", f"{reading!r} is no number")


def score(table: pa.Table) -> pa.Table:
    """Score many readings at once, and return the new data of each job: the stage on Spark."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = table["data.value"]
    scores = pc.divide(pc.subtract(values, 50.0), 25.0)
    args = pa.StructArray.from_arrays(
        [table["data.sensor"].combine_chunks(), scores.combine_chunks()], ["sensor", "score"]
    )
    return pa.table(
        {
            "task": ["store"] * len(table),
            "args": args,
            "failure": pc.if_else(pc.greater(values, 99.0), "TooHigh", None),
            "message": pc.cast(values, "string"),
        }
    )


def main() -> None:
    """Put readings, run the three stages at the same time, and print the results."""
    from headrace.spark import session, work

    url = os.environ.get("HEADRACE_URL")
    spark = session()
    with headrace.connect(url, namespace=NAMESPACE) as hr, storing():
        texts = [f"sensor-{n % 7}={n % 101 if n % 1000 else 'broken'}" for n in range(READINGS)]
        ids = hr.queue("clean").put_many(texts, retries=0)
        running = work(
            spark, "score", score, until="stopped", next="store", url=url, namespace=NAMESPACE
        )
        try:
            clean(hr)
            while any(hr.queue(name).length() for name in ("score", "store")):
                time.sleep(0.1)
        finally:
            running.stop()
        counts = running.wait()
        print(f"Spark ran {counts.batches} batches with {counts.completed} valid readings")
        report(hr, ids[1])
    app.close()


@contextmanager
def storing() -> Iterator[None]:
    """Run an ordinary worker in the background."""
    command = [str(Path(sys.executable).with_name("headrace")), "work", "spark_stages:app"]
    # The worker starts in this directory, because it uses the embedded server of its directory.
    worker = subprocess.Popen(
        [*command, "-q", "store"], env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait()


def report(hr: headrace.Client, job_id: str) -> None:
    """Print the job counts of each queue, the failures, and the events of one job."""
    for name, counts in hr.queues().items():
        print(f"{name}: {counts.complete} complete, {counts.failed} failed, {counts.length} left")
    print("failures:", dict(sorted(hr.failures.counts().items())))
    print(f"one of them: {hr.result(job_id).value}, and its events")
    for event in hr.events():
        if event.job_id == job_id:
            print(f"  {event.kind:9} {event.queue:5} {event.worker}")


if __name__ == "__main__":
    main()
