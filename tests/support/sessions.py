"""Workers with sessions, and their death."""

from __future__ import annotations

from headrace import Client, Queue, Session
from headrace.testing import Clock

TTL = 3.0


def serving(hr: Client, worker: str, *queues: Queue) -> Session:
    """The session of a worker that serves these queues."""
    session = hr.session(worker, ttl=TTL)
    for queue in queues:
        session.serve(queue.name)
    return session


def lapse(clock: Clock, *alive: Session) -> None:
    """Time passes in which every session ends but those that are renewed."""
    for _ in range(3):
        clock.tick(TTL / 3)
        for session in alive:
            session.renew()
