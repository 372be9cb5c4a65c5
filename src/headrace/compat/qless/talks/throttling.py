"""Throttles: limits with a name that jobs share."""

from __future__ import annotations

from headrace.compat.qless.dialect import Face
from headrace.compat.qless.values import Document
from headrace.engine.check import PAGE, Span
from headrace.operations import throttles
from headrace.transport.drive import Operation


def set_throttle(
    face: Face, name: str, maximum: int, expiration: Span | None = None
) -> Operation[None]:
    """Lets at most so many jobs that name this throttle run at once, for a time if one is given."""
    limit = None if maximum == 0 else maximum
    yield from throttles.set_throttle(face, name, concurrency=limit, ttl=expiration)


def get_throttle(face: Face, name: str) -> Operation[Document]:
    """The maximum, the seconds left, the ids of the jobs that run and the queues it holds up.

    A maximum of 0 is no limit.
    """
    known = yield from throttles.throttle(face, name, count=PAGE)
    return {
        "id": known.name,
        "maximum": known.concurrency or 0,
        "ttl": known.expires_in,
        "locks": known.holders,
        "pending": known.held_up,
    }


def delete_throttle(face: Face, name: str) -> Operation[bool]:
    """Ends a throttle; whether there was one."""
    return (yield from throttles.delete_throttle(face, name))
