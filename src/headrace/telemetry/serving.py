"""Serves metrics over HTTP. As a program: those of a worker, until whoever began it is gone."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
import threading
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.multiprocess import MultiProcessCollector


class Server(ThreadingMixIn, WSGIServer):
    """A server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, registry: CollectorRegistry) -> None:
        super().__init__(listening.getsockname(), Quiet, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = listening.getsockname()[:2]
        self.setup_environ()
        self.set_app(make_wsgi_app(registry))


class Quiet(WSGIRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_: Any) -> None:
        pass


def registry_of(collector: Any) -> CollectorRegistry:
    """A registry with one collector."""
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


def main() -> None:
    """Serves what worker processes wrote into a directory."""
    directory, number = sys.argv[1:]
    # A worker that is told to end still has jobs to count.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    registry = registry_of(MultiProcessCollector(None, path=directory))
    server = Server(socket.socket(fileno=int(number)), registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
