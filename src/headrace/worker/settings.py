"""How a worker is to work."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.engine.check import milliseconds
from headrace.errors import InvalidArgument

SESSION_TTL = 3.0


@dataclass(frozen=True, slots=True)
class Served:
    """A queue that is served, and its weight among the others."""

    name: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What `headrace work` was asked for, checked.

    Without queues, those of the app's tasks are served. Queues are strictly ordered unless they
    have weights.
    """

    app: str
    queues: tuple[Served, ...] = ()
    weighted: bool = False
    processes: int = 1
    concurrency: int = 16
    drain: float = 30.0
    ttl: float = SESSION_TTL
    max_jobs: int | None = None
    max_memory: int | None = None

    def __post_init__(self) -> None:
        milliseconds("the length of a session", self.ttl)
        milliseconds("the time to drain", self.drain)


def read_queues(listed: str) -> tuple[tuple[Served, ...], bool]:
    """Queues as people name them: "mail,default" in that order, "mail:3,default:1" by weight."""
    served = tuple(_read_queue(part.strip()) for part in listed.split(",") if part.strip())
    names = [queue.name for queue in served]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidArgument(f"queue {min(twice)!r} is named twice")
    return served, ":" in listed


def _read_queue(part: str) -> Served:
    name, colon, weight = part.rpartition(":")
    if not colon:
        return Served(part)
    try:
        share = float(weight)
    except ValueError:
        share = 0
    if not name or not 0 < share < float("inf"):
        raise InvalidArgument(f"{part!r} is not a queue and its weight, such as mail:3")
    return Served(name, share)
