"""The metrics of `headrace work --metrics-port`: counted in every process, served by one more.

The processes write into files of a private directory, as prometheus_client does where there are
several, and the server adds them up. A file belongs to a place rather than to a process: whoever
takes a place goes on with its counters, so there are never more files than places.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from headrace.errors import InvalidArgument
from headrace.telemetry import require
from headrace.worker.metering import word
from headrace.worker.run import Done, Failed, Run, Snoozed

DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
RUN_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800)
WAIT_BUCKETS = (*RUN_BUCKETS, 7200, 86400)
UNKNOWN = "unknown"


class WorkerMetrics:
    """Counts runs, and serves what is counted while the block lasts."""

    def __init__(self, port: int) -> None:
        require("--metrics-port", "prometheus_client", "prometheus-client")
        try:
            self._listening = socket.create_server(("", port))
        except OSError as error:
            raise InvalidArgument(f"metrics cannot be served at port {port}: {error}") from None
        self.port: int = self._listening.getsockname()[1]
        # The server removes it too, if we cannot.
        self._directory = TemporaryDirectory(prefix="headrace-metrics-", ignore_cleanup_errors=True)
        self._server: subprocess.Popen[bytes] | None = None
        self._families: Families | None = None

    def __enter__(self) -> Self:
        number = self._listening.fileno()
        self._server = subprocess.Popen(
            [sys.executable, "-m", "headrace.telemetry.serving", self._directory.name, str(number)],
            pass_fds=[number],
            stdin=subprocess.PIPE,
        )
        self._listening.close()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.communicate()
        self._directory.cleanup()

    def begin(self, place: int, concurrency: int) -> None:
        """This process counts from now on, in this place."""
        if self._server is not None and self._server.stdin is not None:
            # Held open here, it would hide the end of the supervisor.
            self._server.stdin.close()
        os.environ[DIRECTORY_VARIABLE] = self._directory.name
        self._families = Families(place)
        self._families.concurrency.set(concurrency)
        self._families.processes.set(1)
        self.holding(0, 0)

    def ended(self, run: Run, outcome: Done | Failed | Snoozed, seconds: float) -> None:
        """A run is over."""
        if self._families is not None:
            record = run.popped.record
            # Not what the job says: anybody may put a job that names anything.
            task = UNKNOWN if run.task is None else run.task.name
            runs, run_seconds, wait_seconds = self._families.of(task, record.queue, word(outcome))
            runs.inc()
            run_seconds.observe(seconds)
            wait_seconds.observe((record.since - record.put_at) / 1000)

    def holding(self, running: int, ready: int) -> None:
        """So many jobs run, and so many are in hand that do not run yet."""
        if self._families is not None:
            self._families.running.set(running)
            self._families.ready.set(ready)

    def gone(self, place: int) -> None:
        """What was true of a process is so no longer; what it counted stays."""
        for file in Path(self._directory.name).glob(f"gauge_live*_{place}.db"):
            file.unlink(missing_ok=True)


class Families:
    """The metrics of one process."""

    def __init__(self, place: int) -> None:
        from prometheus_client import (  # noqa: PLC0415 - a package of the extra, and it looks at
            CollectorRegistry,  # the environment when it is imported
            Counter,
            Gauge,
            Histogram,
            values,
        )

        values.ValueClass = values.MultiProcessValue(lambda: place)
        metrics = CollectorRegistry()

        def gauge(name: str, about: str) -> Any:
            return Gauge(name, about, multiprocess_mode="livesum", registry=metrics)

        labels = ("task", "queue")
        self.runs = Counter(
            "headrace_runs", "Runs that are over.", (*labels, "outcome"), registry=metrics
        )
        self.run_seconds = Histogram(
            "headrace_run_seconds",
            "How long jobs ran.",
            labels,
            buckets=RUN_BUCKETS,
            registry=metrics,
        )
        self.wait_seconds = Histogram(
            "headrace_wait_seconds",
            "How long after their put jobs were handed out.",
            labels,
            buckets=WAIT_BUCKETS,
            registry=metrics,
        )
        self.running = gauge("headrace_running", "Jobs that run now.")
        self.ready = gauge("headrace_ready", "Jobs in hand that do not run yet.")
        self.concurrency = gauge("headrace_concurrency", "How many jobs may run at once.")
        self.processes = gauge("headrace_processes", "Worker processes.")
        self._found: dict[tuple[str, str, str], tuple[Any, Any, Any]] = {}

    def of(self, task: str, queue: str, outcome: str) -> tuple[Any, Any, Any]:
        """What counts runs of a task that end so, looked up once."""
        found = self._found.get((task, queue, outcome))
        if found is None:
            found = self._found[task, queue, outcome] = (
                self.runs.labels(task, queue, outcome),
                self.run_seconds.labels(task, queue),
                self.wait_seconds.labels(task, queue),
            )
        return found
