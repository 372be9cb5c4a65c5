"""Serves metrics over HTTP. As a program: those of a worker, until whoever began it is gone."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, NoReturn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.multiprocess import MultiProcessCollector

PAUSE = 1.0

_merge: Any = MultiProcessCollector.merge


class Server(ThreadingMixIn, WSGIServer):
    """A server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, metrics: CollectorRegistry) -> None:
        super().__init__(listening.getsockname(), Quiet, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = listening.getsockname()[:2]
        self.setup_environ()
        self.set_app(make_wsgi_app(metrics))


class Written:
    """What processes wrote. One that is just beginning, or died at that, has an empty file."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def collect(self) -> Any:
        files = [str(file) for file in self._directory.glob("*.db") if _has_something(file)]
        return _merge(files, accumulate=True)


def _has_something(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


class Quiet(WSGIRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_: Any) -> None:
        pass


def registry_of(collector: Any) -> CollectorRegistry:
    """A registry with one collector."""
    metrics = CollectorRegistry()
    metrics.register(collector)
    return metrics


def main() -> None:
    """Serves what worker processes wrote into a directory; a server that dies is begun again."""
    directory, number = sys.argv[1:]
    # A worker that is told to end still has jobs to count.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    while not _served_to_the_end(directory, int(number)):
        sys.stderr.write("headrace: the metrics server died and is begun again\n")
        sys.stderr.flush()
        select.select([sys.stdin], [], [], PAUSE)
    shutil.rmtree(directory, ignore_errors=True)


def _served_to_the_end(directory: str, number: int) -> bool:
    """Whether it was served until whoever began us is gone."""
    alive, held = os.pipe()
    server = os.fork()
    if server == 0:
        os.close(held)
        _serve(directory, number, alive)
    os.close(alive)
    watched = os.pidfd_open(server)
    ready, _, _ = select.select([sys.stdin, watched], [], [])
    for each in (watched, held):
        os.close(each)
    os.waitpid(server, 0)
    return sys.stdin in ready


def _serve(directory: str, number: int, alive: int) -> NoReturn:
    try:
        metrics = registry_of(Written(directory))
        server = Server(socket.socket(fileno=number), metrics)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # Nothing is ever written: it ends with the process that holds the other end.
        os.read(alive, 1)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
