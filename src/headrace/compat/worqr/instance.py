"""What an instance is told when it is made, and who listens to it."""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

from headrace.client.client import AsyncClient, Client
from headrace.compat.worqr.crew import Crew, Handler
from headrace.engine.check import Limits, number, text
from headrace.errors import InvalidArgument

PREFIX = "worqr"
LONGEST_NAME = Limits().name


def namespace_of(client: Client | AsyncClient | str, prefix: str | None) -> str:
    """The namespace that a key prefix stands for; a client that is given has one already."""
    if isinstance(client, Client | AsyncClient) and prefix not in (None, client.core.namespace):
        raise InvalidArgument(
            f"the client is of namespace {client.core.namespace!r}, not {prefix!r}: leave "
            "redisKeyPrefix out, or give a URL"
        )
    return PREFIX if prefix is None else prefix


class Instance:
    """The options of an instance, its workers, and its handlers."""

    crew: Crew

    def _choose(
        self, worker_id: str | None, heartbeat: float, timeout: float, cleanup: float
    ) -> None:
        self.workerId = (
            str(uuid4()) if worker_id is None else text("workerId", worker_id, LONGEST_NAME)
        )
        self.workerHeartbeatInterval = _more_than_0("workerHeartbeatInterval", heartbeat)
        if number("workerTimeout", timeout) == 0:
            raise InvalidArgument("workerTimeout must not be 0; less than 0 is a permanent worker")
        self.workerTimeout = timeout
        self.workerCleanupInterval = _more_than_0("workerCleanupInterval", cleanup)

    def on(self, queue: str, handler: Handler) -> None:
        """From now on handler(type, message) is called with what is heard of a queue.

        That begins with startWork. Types are work (how many tasks), cancel (the task), delete, and
        done (a dict of workerId, task and result).
        """
        if not callable(handler):
            raise InvalidArgument(f"handler must be a function, not {type(handler).__name__}")
        self.crew.handlers.setdefault(text("queue", queue, LONGEST_NAME), []).append(handler)

    def removeListener(self, queue: str, handler: Handler) -> None:
        """The handler is called no more; one that was never given is fine."""
        with suppress(ValueError):
            self.crew.handlers.get(queue, []).remove(handler)


def _more_than_0(name: str, value: float) -> float:
    if number(name, value) <= 0:
        raise InvalidArgument(f"{name} must be more than 0 milliseconds, not {value}")
    return value
