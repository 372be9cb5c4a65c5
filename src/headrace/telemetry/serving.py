"""A process that serves the metrics of a worker over HTTP until its stdin closes.

It prints the port, or why it cannot use the port, as its first line.
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
    """Collects the files that worker processes write into a directory.

    A process that is just starting, or died while starting, has an empty file, which is skipped.
    """

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def collect(self) -> Any:
        """Return the metrics of all files, added up."""
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
    """Serve the metric files of a directory at a port until stdin closes; then remove them."""
    directory, port = sys.argv[1:]
    # Serve metrics during shutdown, too: the worker still finishes jobs, and they count.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        server, _ = start_http_server(int(port), registry=registry_of(MetricFiles(directory)))
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        return
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
