"""headrace.spark.work: the return value of the function sets the outcome of jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.spark import JobRow, Next, RunFailed, work
from tests.spark.support.workplace import Workplace, workplace
from tests.support.restartable import meanwhile
from tests.support.servers import until


@pytest.fixture
def place(spark: SparkSession, valkey_url: str) -> Iterator[Workplace]:
    with workplace(spark, valkey_url) as found:
        yield found
        found.check()


def test_returned_table_sets_outcome_of_each_job(place: Workplace) -> None:
    ids = place.put("numbers", 50, tags=["vip"], retries=1)

    def function(table: pa.Table) -> pa.Table:
        said = [
            {
                "id": row["id"],
                "failure": {3: "Odd", 4: "Busy"}.get(row["data.n"]),
                "message": f"{row['data.n']} is bad",
                "retry_in": 3600 if row["data.n"] == 4 else None,
                "next": "onward" if row["data.n"] == 5 else None,
                "twice": 2 * row["data.n"],
                "tag": row["tags"][0],
            }
            for row in reversed(table.to_pylist())
        ]
        return pa.Table.from_pylist(said)

    tally = place.work("numbers", function, batch=20)

    assert (tally.completed, tally.failed, tally.retried) == (48, 1, 1)
    assert tally.tasks == 2
    assert tally.batches >= 3
    assert place.results([ids[49]]) == [{"twice": 98, "tag": "vip"}]
    assert place.failure_of(ids[3]) == ("failed", "Odd", "3 is bad")
    assert place.job(ids[4]).state == "scheduled"
    moved = place.job(ids[5])
    assert (moved.queue, moved.state) == ("onward", "waiting")
    assert moved.data == {"twice": 10, "tag": "vip"}


def test_poison_job_fails_alone_and_others_move_to_next_queue(place: Workplace) -> None:
    ids = place.put("raw", 300, retries=0)

    def score(frame: Any) -> Any:
        if (frame["data.n"] == 7).any():
            raise ZeroDivisionError("seven")
        frame["score"] = frame["data.n"] / 2
        return frame

    tally = place.work("raw", score, frame="pandas", next="scored")

    assert (tally.completed, tally.failed) == (299, 1)
    assert place.failure_of(ids[7]) == ("failed", "ZeroDivisionError", "seven")
    [first] = place.client.queue("scored").peek(1)
    assert first.data == {"n": 0, "score": 0.0}
    assert place.client.queue("scored").counts().waiting == 299


def test_rows_frame_returns_or_raises_for_each_job(place: Workplace) -> None:
    ids = place.put("mixed", 6, retries=3)
    place.client.queue("mixed").put(b"\xff".hex(), id="text")

    def function(row: JobRow) -> Any:
        if row.id == "text":
            return row.data
        if row.data["n"] == 0:
            raise headrace.Snooze(3600)
        if row.data["n"] == 1:
            raise headrace.Discard("never", failure="Never")
        if row.data["n"] == 2:
            raise headrace.Retry("later", delay=3600)
        if row.data["n"] == 3:
            return Next("onward", {"by": row.id}, delay=60)
        return row.attempt if row.data["n"] == 4 else object()

    tally = place.work("mixed", function, frame="rows", tasks=1)

    assert (tally.completed, tally.failed, tally.retried, tally.released) == (3, 2, 1, 1)
    assert place.results([ids[4], "text"]) == [1, "ff"]
    states = [place.job(job_id).state for job_id in ids]
    assert states == ["scheduled", "failed", "scheduled", "scheduled", "complete", "failed"]
    assert place.failure_of(ids[5])[1] == "Unwritable"


def test_jobs_that_do_not_fit_the_schema_fail_alone(place: Workplace) -> None:
    place.put("typed", 3)
    place.client.queue("typed").put({"n": "many"}, id="misfit")
    with headrace.connect(place.url, namespace=place.client.core.namespace, codec="raw") as raw:
        raw.queue("typed").put(b"{no json", id="unreadable", retries=0)

    tally = place.work("typed", lambda table: table["data.n"], schema="n bigint")

    assert (tally.completed, tally.failed) == (3, 2)
    failures = place.client.failures.counts()
    assert failures == {"Misfit": 1, "UnreadableData": 1}


def test_run_continues_until_stopped(place: Workplace) -> None:
    running = place.begin("later", lambda table: table["data.n"])
    ids = place.put("later", 10)
    until(lambda: place.client.queue("later").counts().complete == 10, "all jobs are complete")
    until(lambda: len(place.client.workers.list()) == 3, "the run and both tasks have a session")
    names = [worker.name for worker in place.client.workers.list()]
    assert all(name.startswith(f"spark-{running.run}") for name in names)
    with pytest.raises(TimeoutError, match="did not end within"):
        running.wait(timeout=0)
    running.stop()
    running.stop()
    assert running.wait(timeout=60).completed == 10
    assert running.counts().complete == 10
    assert place.results(ids) == list(range(10))


def test_empty_queue_ends_the_run(place: Workplace) -> None:
    place.put("calm", 1, delay=3600)
    assert place.work("calm", print, tasks=1).batches == 0


def test_run_on_paused_queue_logs_a_warning(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    place.put("held", 1)
    place.client.queue("held").pause()

    def resume() -> None:
        until(
            lambda: "queue held is paused" in caplog.text, "the run logs that the queue is paused"
        )
        place.client.queue("held").resume()

    with meanwhile(resume):
        tally = place.work("held", lambda _: None, tasks=1)

    assert tally.completed == 1
    assert caplog.text.count("headrace resume held") == 1


class TestWrongUse:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"until": "done"}, "until must be 'empty' or 'stopped'"),
            ({"batch": 0}, "batch must be"),
            ({"batch": "many"}, "batch must be"),
            ({"tasks": 0}, "tasks must be"),
            ({"frame": "polars"}, "frame must be 'arrow' or"),
            ({"schema": "n bigint, m"}, "schema must be"),
            ({"schema": {"n": int}}, "schema must be"),
            ({"next": ""}, "next"),
            ({"queue": ""}, "queue"),
            ({"queue": 7}, "queue"),
            ({"url": "http://localhost"}, "url must begin with"),
            ({"namespace": "a{b"}, "namespace"),
            ({"codec": "yaml"}, "no codec"),
            ({"function": 5}, "must be callable"),
            ({"spark": "local"}, "must be a SparkSession"),
        ],
    )
    def test_wrong_argument_is_refused_before_the_run_starts(
        self, spark: SparkSession, valkey_url: str, options: dict[str, Any], words: str
    ) -> None:
        given: dict[str, Any] = {
            "spark": spark,
            "queue": "q",
            "function": print,
            "url": valkey_url,
            **options,
        }
        with pytest.raises(headrace.InvalidArgument, match=words):
            work(given.pop("spark"), given.pop("queue"), given.pop("function"), **given)

    def test_function_that_cannot_be_pickled_is_refused(
        self, spark: SparkSession, place: Workplace
    ) -> None:
        with pytest.raises(headrace.InvalidArgument, match="cannot be pickled for the executors"):
            place.work("q", lambda _: spark.range(3).count())
        lock = threading.Lock()
        with pytest.raises(headrace.InvalidArgument, match="inside the function"):
            place.work("q", lambda _: lock)

    def test_unknown_queue_is_refused(self, place: Workplace) -> None:
        with pytest.raises(headrace.QueueNotFound):
            place.work("misspelt", print)

    def test_queue_without_sessions_is_refused(self, place: Workplace) -> None:
        place.client.queue("fast").configure(session="none")
        with pytest.raises(headrace.InvalidArgument, match="session='optional'"):
            place.work("fast", print)

    def test_function_missing_on_executors_fails_the_run(self, place: Workplace) -> None:
        place.put("q", 1)

        class Vanishing:
            def __reduce__(self) -> Any:
                return __import__, ("no_such_module",)

            def __call__(self, _: Any) -> None: ...

        with pytest.raises(RunFailed, match="no_such_module"):
            place.work("q", Vanishing())
