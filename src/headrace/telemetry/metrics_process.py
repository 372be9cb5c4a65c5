"""A process that serves the metrics of a worker over HTTP.

The process writes one line to stdout: the port, or the reason why the process cannot use the port.
The process ends when its stdin closes.
"""

from __future__ import annotations

import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

_merge: Any = MultiProcessCollector.merge


class MetricFiles:
    """Collects the metrics that worker processes write to files in a directory.

    The collector skips empty files, which belong to processes that are just starting or died early.
    """

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def collect(self) -> Any:
        """Return the metrics, summed over all files."""
        files = [str(file) for file in self._directory.glob("*.db") if _has_content(file)]
        return _merge(files, accumulate=True)


def _has_content(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


def registry_of(collector: Any) -> CollectorRegistry:
    """Return a registry with one collector."""
    metrics = CollectorRegistry()
    metrics.register(collector)
    return metrics


def main() -> None:
    """Serve the metric files of a directory until stdin closes, then remove the directory."""
    directory, address, port = sys.argv[1:]
    # Ignore these signals: metrics are also served during shutdown, while the worker finishes jobs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        metrics = registry_of(MetricFiles(directory))
        server, _ = start_http_server(int(port), address, metrics)
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        return
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
