"""A program that keeps the session of a worker alive for as long as its owner lives.

It runs no code of users, so nothing that the owner does, also with the interpreter's lock held, can
keep it from renewing. It vouches for nobody who is dead or stopped: when the other end of its stdin
closes, it gives back what its owner had not begun and ends the session as that of a dead worker.

The first line it reads is an Order. Each further one says what was begun of what the owner holds;
an empty line says that the owner is done. It writes a word on a line when something has happened.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

import msgspec

from headrace.client import connect as connecting
from headrace.client.client import Client
from headrace.client.lease import Lease
from headrace.client.session import Session
from headrace.errors import HeadraceError, SessionEnded
from headrace.operations.requests import raw
from headrace.transport.drive import drive
from headrace.worker.child import is_stopped
from headrace.worker.notices import held_jobs

# What it says: the session has begun, and the session that it watches has ended.
BEGUN, OVER = b"begun\n", b"over\n"

RENEWALS = 3
PATIENCE = 1.0
RETRY_FOR = 0.5
FIRST_PAUSE = 0.2
# After the server was away a watched session that is gone may be begun anew.
GRACE = 5.0


class Order(msgspec.Struct):
    """Whose session is kept and where, and which other session is watched besides."""

    url: str
    namespace: str
    worker: str
    owner: int
    ttl: float
    queues: list[str] = []
    watched: str = ""


class Sidecar:
    """Keeps one session."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._client: Client | None = None
        self._session: Session | None = None
        # None: all that the owner holds.
        self._begun: set[str] | None = None
        self._heard = b""
        self._believe_from = 0.0
        self._said_over = False

    def run(self) -> None:
        """Returns when the owner is done, or dead."""
        pause = 0.0
        while True:
            readable, _, _ = select.select([0], [], [], pause)
            if readable and self._hear():
                return
            if os.getppid() != self._order.owner:
                self._bury()
                return
            if not readable:
                pause = self._order.ttl / RENEWALS if self._keep() else FIRST_PAUSE

    def _hear(self) -> bool:
        """Reads what the owner says; True if that was the last."""
        heard = os.read(0, 1 << 16)
        if not heard:
            self._bury()
            return True
        *lines, self._heard = (self._heard + heard).split(b"\n")
        for line in lines:
            if not line:
                self._end()
                return True
            self._begun = msgspec.json.decode(line, type=set[str] | None)
        return False

    def _keep(self) -> bool:
        """Renews the session, or begins a new one; False if the server did not answer."""
        try:
            if self._session is None:
                self._begin()
            elif not is_stopped(self._order.owner):
                self._session.renew()
            self._watch()
        except SessionEnded:
            self._session = None
            self._doubt()
            return False
        except HeadraceError:
            self._doubt()
            return False
        return True

    def _begin(self) -> None:
        order = self._order
        if self._client is None:
            asked = connecting.wanted(
                order.url, order.namespace, None, "raw", None, None, RETRY_FOR, PATIENCE
            )
            self._client = connecting.connect(asked)
        session = self._client.session(order.worker, ttl=order.ttl)
        for queue in order.queues:
            session.serve(queue)
        self._session = session
        _say(BEGUN)

    def _watch(self) -> None:
        if not self._order.watched or self._client is None or self._said_over:
            return
        core = self._client.core
        key = core.key(0, f"session:{self._order.watched}")
        [there] = drive(core.transport, raw(core, [(0, ("EXISTS", key))]))
        if not there and time.monotonic() >= self._believe_from:
            self._said_over = True
            _say(OVER)

    def _doubt(self) -> None:
        self._believe_from = time.monotonic() + GRACE

    def _end(self) -> None:
        if self._session is not None:
            with suppress(HeadraceError):
                self._session.end()

    def _bury(self) -> None:
        """What kills its workers must run out of retries: so this costs one, if it had begun."""
        client = self._client
        if client is None or self._session is None:
            return
        worker = self._order.worker
        with suppress(HeadraceError):
            if self._begun is not None:
                held = drive(client.core.transport, held_jobs(client.core, worker, self._begun))
                leases = [Lease(client.core, popped) for popped in held]
                client.leases.release(leases, position="front")
            client.workers.end(worker)


def _say(word: bytes) -> None:
    # The owner may have died in the meantime: that is heard by itself.
    with suppress(BrokenPipeError):
        os.write(1, word)


def main() -> None:
    """Keeps the session that is asked for on stdin."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    Sidecar(msgspec.json.decode(line, type=Order)).run()


if __name__ == "__main__":
    main()
