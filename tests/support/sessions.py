"""Helpers to start sessions and let them expire."""

from __future__ import annotations

from headrace import Client, Queue, Session
from headrace.testing import Clock

TTL = 3.0


def serving(hr: Client, worker: str, *queues: Queue) -> Session:
    """Start a session of a worker that serves these queues."""
    session = hr.session(worker, ttl=TTL)
    for queue in queues:
        session.serve(queue.name)
    return session


def lapse(clock: Clock, *alive: Session) -> None:
    """Let all sessions expire except the given sessions, which are renewed."""
    for _ in range(3):
        clock.tick(TTL / 3)
        for session in alive:
            session.renew()
