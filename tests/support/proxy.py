"""A proxy to a server that breaks a connection at a moment that the test chooses.

The moment is before the server receives a request, or after the server has handled the request
and before the client has received the answer.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.local_server import server_process
from headrace.local_server.scratch import scratch_directory

MOMENTS = ("before the request", "before the answer", "inside the answer")
LATE = "late"
TOGETHER = "together"


def nothing() -> None:
    """Do nothing; the default for `meanwhile`."""


@dataclass
class Cut:
    """One planned break: at the request that contains these bytes, after `skip` such requests."""

    mark: bytes
    moment: str
    skip: int
    meanwhile: Callable[[], None]


class Way:
    """The proxy, on a unix socket. One thread accepts clients, and two threads serve each."""

    def __init__(self, server: Path, home: Path) -> None:
        self.path = home / "way.sock"
        self.url = server_process.url_of(self.path)
        self.cuts = 0
        self.welcomed = 0
        self.requests: list[bytes] = []
        self._server = server
        self._lock = threading.Lock()
        self._coming: list[Cut] = []
        self._streams: set[socket.socket] = set()
        self.open()

    def lose(
        self,
        mark: str | bytes,
        moment: str,
        *,
        skip: int = 0,
        meanwhile: Callable[[], None] = nothing,
    ) -> None:
        """Break the connection once, at the request that contains these bytes.

        The moment LATE does not break the connection, but holds back half of the answer until
        `meanwhile` returns. TOGETHER holds back the whole answer until more data arrives.
        """
        assert moment in (*MOMENTS, LATE, TOGETHER)
        words = mark.encode() if isinstance(mark, str) else mark
        self._coming.append(Cut(words, moment, skip, meanwhile))

    def open(self) -> None:
        """Accept clients."""
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.path))
        self._door.listen(64)
        threading.Thread(target=self._welcome, args=(self._door,), daemon=True).start()

    def close(self) -> None:
        """Disconnect all clients, and accept no more."""
        _end(self._door)
        self.path.unlink()
        with self._lock:
            streams, self._streams = self._streams, set()
        for stream in streams:
            _end(stream)

    def clients(self) -> int:
        """Return the number of connected clients."""
        with self._lock:
            return sum(stream.fileno() >= 0 for stream in self._streams) // 2

    def _welcome(self, door: socket.socket) -> None:
        while True:
            try:
                client, _ = door.accept()
            except OSError:
                return
            self.welcomed += 1
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self._server))
            except OSError:
                _end(client)
                server.close()
                continue
            with self._lock:
                self._streams |= {client, server}
            answers = Answers(client, server)
            for serve in (lambda a=answers: self._requests(a), answers.carry):
                threading.Thread(target=serve, daemon=True).start()

    def _requests(self, answers: Answers) -> None:
        client, server = answers.client, answers.server
        with suppress(OSError):
            while data := client.recv(1 << 20):
                self.requests.append(data)
                cut = self._cut(data)
                if cut:
                    self.cuts += 1
                    if cut.moment == "before the request":
                        cut.meanwhile()
                        break
                    answers.cut = cut
                server.sendall(data)
        _end(client)
        _end(server)

    def _cut(self, data: bytes) -> Cut | None:
        with self._lock:
            for cut in self._coming:
                if cut.mark in data:
                    if cut.skip == 0:
                        self._coming.remove(cut)
                        return cut
                    cut.skip -= 1
        return None


@dataclass
class Answers:
    """The answers of one connection, until it is cut."""

    client: socket.socket
    server: socket.socket
    cut: Cut | None = None

    def carry(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(1 << 20):
                cut, self.cut = self.cut, None
                if cut:
                    half = len(data) // 2 if cut.moment in ("inside the answer", LATE) else 0
                    self.client.sendall(data[:half])
                    cut.meanwhile()
                    if cut.moment == TOGETHER:
                        data += self.server.recv(1 << 20)
                    elif cut.moment != LATE:
                        break
                    data = data[half:]
                self.client.sendall(data)
        _end(self.client)
        _end(self.server)


def _end(stream: socket.socket) -> None:
    with suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    stream.close()


@contextmanager
def way_to(url: str) -> Iterator[Way]:
    """Open a proxy to the server on a unix socket that has this URL."""
    with scratch_directory() as home:
        way = Way(Path(url.removeprefix("unix://")), home)
        try:
            yield way
        finally:
            with suppress(FileNotFoundError):
                way.close()
