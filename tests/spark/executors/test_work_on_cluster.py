"""headrace.spark.work in a separate driver: on a cluster, killed and interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headrace
from headrace import Client
from tests.support.processes import gone
from tests.support.restartable import restartable
from tests.support.servers import until

JOBS = 30_000
PATIENCE = 240.0

DRIVER = """
import sys
from pathlib import Path
from headrace.spark import session, work

master, url, namespace, notes = sys.argv[1:]

def function(table):
    import os, time
    daemon = os.getppid()
    executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]
    (Path(notes) / executor).touch()
    time.sleep(0.2)
    return table["data"]

spark = session(master, spark_local_dir=notes)
print(work(spark, "q", function, batch=500, url=url, namespace=namespace), flush=True)
"""


@contextmanager
def driver(master: str, url: str, notes: Path) -> Iterator[subprocess.Popen[str]]:
    """A running driver with all processes that it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, master, url, "cluster", str(notes)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=notes,
        env={**os.environ, "SPARK_WORKER_DIR": str(notes / "work")},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def complete(client: Client) -> int:
    return client.queue("q").counts().complete


def executors(notes: Path) -> list[int]:
    """Return the ids of the Java processes that have called the function."""
    return [int(path.name) for path in notes.iterdir() if path.name.isdigit()]


def check_each_once(client: Client, ids: list[str]) -> None:
    ends = Counter(event.job_id for event in client.events() if event.kind == "completed")
    assert ends == dict.fromkeys(ids, 1)
    assert client.audit().problems == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_killed_executor_and_server_complete_each_job_once(
    tmp_path: Path,
) -> None:
    with (
        restartable() as server,
        headrace.connect(server.url, namespace="cluster", shards=4, retry_for=60) as client,
    ):
        client.queue("q").configure(keep_count=JOBS)
        ids = client.queue("q").put_many(range(JOBS))
        with driver("local-cluster[2,1,1024]", server.url, tmp_path) as process:
            until(lambda: complete(client) > JOBS // 20, "the run has started", PATIENCE)
            until(
                lambda: len(executors(tmp_path)) == 2,
                "both executors have called the function",
                PATIENCE,
            )
            os.kill(executors(tmp_path)[0], signal.SIGKILL)
            so_far = complete(client)
            until(
                lambda: complete(client) > so_far + JOBS // 10,
                "the run completes more jobs",
                PATIENCE,
            )
            assert process.poll() is None
            server.kill()
            server.start()
            printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "deaths=1" in printed
        check_each_once(client, ids)
        assert client.workers.list() == []


@pytest.mark.long
@pytest.mark.timeout(300)
def test_ctrl_c_ends_the_run_after_present_batches(tmp_path: Path) -> None:
    with (
        restartable() as server,
        headrace.connect(server.url, namespace="cluster") as client,
    ):
        client.queue("q").put_many(range(JOBS))
        with driver("local[2]", server.url, tmp_path) as process:
            until(lambda: complete(client) > 0, "the run has started", PATIENCE)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGINT
        assert client.workers.list() == []
        counts = client.queue("q").counts()
        assert counts.running == 0
        assert counts.waiting > 0
        assert {event.kind for event in client.events()} == {"put", "popped", "completed"}


@pytest.mark.long
@pytest.mark.timeout(300)
def test_tasks_end_with_killed_driver_and_next_run_finishes(
    tmp_path: Path,
) -> None:
    with (
        restartable() as server,
        headrace.connect(server.url, namespace="cluster") as client,
    ):
        ids = client.queue("q").put_many(range(JOBS // 5))
        client.queue("q").configure(keep_count=JOBS)
        with driver("local[2]", server.url, tmp_path) as process:
            until(lambda: complete(client) > 0, "the run has started", PATIENCE)
            os.kill(process.pid, signal.SIGKILL)
            until(lambda: client.workers.list() == [], "no worker has a session", PATIENCE)
            until(lambda: all(gone(pid) for pid in executors(tmp_path)), "Java is gone", PATIENCE)
        assert client.queue("q").counts().running == 0
        assert client.queue("q").counts().waiting > 0
        with driver("local[2]", server.url, tmp_path) as process:
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        check_each_once(client, ids)
