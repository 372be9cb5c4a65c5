"""The metrics of `headrace work --metrics-port`, summed over all worker processes.

The worker processes write metric files into a private directory, in the multiprocess mode of
prometheus_client. A separate server process sums the metrics of all files and serves the sums.

Every worker process has a numbered slot, and the metric files belong to the slot. When a process
ends, its replacement takes over the slot and continues the counters, so the number of files does
not grow.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Self, cast

from headrace.errors import InvalidArgument
from headrace.telemetry import require
from headrace.worker.logs import log_event
from headrace.worker.task_call import Outcome, Run, outcome_name

DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
RUN_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800)
WAIT_BUCKETS = (*RUN_BUCKETS, 7200, 86400)
UNKNOWN = "unknown"
RESTART_PAUSE = 1.0


class WorkerMetrics:
    """Counts runs, and serves the counts on a port of an address inside a `with` block.

    Port 0 means any free port; inside the block, `port` is the port in use. Raises MissingExtra if
    prometheus_client is not installed, and InvalidArgument if the port cannot be used.
    """

    def __init__(self, port: int, address: str) -> None:
        require("--metrics-port", "prometheus_client", "prometheus-client")
        self.port = port
        self._address = address
        # The server process removes the directory too, in case this process is killed.
        self._directory = TemporaryDirectory(prefix="headrace-metrics-", ignore_cleanup_errors=True)
        self._server: subprocess.Popen[str] | None = None
        self._restart_at = 0.0
        self._families: MetricFamilies | None = None

    def __enter__(self) -> Self:
        self._server = self._start_server()
        answer = cast(IO[str], self._server.stdout).readline().strip()
        if not answer.isdecimal():
            self.__exit__()
            raise InvalidArgument(
                f"cannot serve metrics on port {self.port} of {self._address}: "
                f"{answer or 'the server process died'}"
            )
        self.port = int(answer)
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.communicate()
        self._directory.cleanup()

    def _start_server(self) -> subprocess.Popen[str]:
        self._restart_at = time.monotonic() + RESTART_PAUSE
        program = [sys.executable, "-m", "headrace.telemetry.metrics_process"]
        return subprocess.Popen(
            [*program, self._directory.name, self._address, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def keep_serving(self) -> None:
        """Restart the server process if it has died, at most once a second."""
        server = self._server
        if server is None or server.poll() is None or time.monotonic() < self._restart_at:
            return
        log_event(logging.WARNING, "metrics server died; starting another", port=self.port)
        for pipe in (server.stdin, server.stdout):
            if pipe is not None:
                pipe.close()
        self._server = self._start_server()

    def begin(self, slot: int, concurrency: int) -> None:
        """Begin to count in this process, in the metric files of this slot."""
        if self._server is not None and self._server.stdin is not None:
            # If this process kept the pipe open, the server process would not notice the
            # supervisor's death.
            self._server.stdin.close()
        os.environ[DIRECTORY_VARIABLE] = self._directory.name
        self._families = MetricFamilies(slot)
        self._families.concurrency.set(concurrency)
        self._families.processes.set(1)
        self.holding(0, 0)

    def finished(self, run: Run, outcome: Outcome, seconds: float) -> None:
        """Count a finished run."""
        if self._families is not None:
            record = run.popped.record
            # Only names of registered tasks become labels: a job can name any task, and the number
            # of labels must stay small.
            task = UNKNOWN if run.task is None else run.task.name
            labels = (task, record.queue)
            self._families.runs.labels(*labels, outcome_name(outcome)).inc()
            self._families.run_seconds.labels(*labels).observe(seconds)
            waited = (record.since - record.put_at) / 1000
            self._families.wait_seconds.labels(*labels).observe(waited)

    def holding(self, running: int, ready: int) -> None:
        """Set the number of running jobs and the number of prefetched jobs that do not run yet."""
        if self._families is not None:
            self._families.running.set(running)
            self._families.ready.set(ready)

    def process_ended(self, slot: int) -> None:
        """Remove the gauges of a process that has ended; its counters stay."""
        for file in Path(self._directory.name).glob(f"gauge_live*_{slot}.db"):
            file.unlink(missing_ok=True)


class MetricFamilies:
    """The metric families of one worker process."""

    def __init__(self, slot: int) -> None:
        # prometheus_client is optional, and its import reads the environment variable set above.
        import prometheus_client as client  # noqa: PLC0415

        client.values.ValueClass = client.values.MultiProcessValue(lambda: slot)
        metrics = client.CollectorRegistry()

        def gauge(name: str, help_text: str) -> Any:
            return client.Gauge(name, help_text, multiprocess_mode="livesum", registry=metrics)

        def histogram(name: str, help_text: str, buckets: tuple[float, ...]) -> Any:
            return client.Histogram(name, help_text, labels, buckets=buckets, registry=metrics)

        labels = ("task", "queue")
        self.runs = client.Counter(
            "headrace_runs", "Finished runs.", (*labels, "outcome"), registry=metrics
        )
        self.run_seconds = histogram("headrace_run_seconds", "Duration of runs.", RUN_BUCKETS)
        self.wait_seconds = histogram(
            "headrace_wait_seconds", "Time from the put of a job to its delivery.", WAIT_BUCKETS
        )
        self.running = gauge("headrace_running", "Running jobs.")
        self.ready = gauge("headrace_ready", "Prefetched jobs that do not run yet.")
        self.concurrency = gauge("headrace_concurrency", "Number of jobs that may run at once.")
        self.processes = gauge("headrace_processes", "Worker processes.")
