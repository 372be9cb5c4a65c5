"""The workers of one instance: their sessions, the queues they work on, and what is heard there."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.engine.check import text
from headrace.errors import SessionEnded
from headrace.operations.core import Core
from headrace.operations.listening import ListeningState

Handler = Callable[[str, Any], object]
Notice = tuple[str, Any]

log = logging.getLogger("headrace")


class Bell(Protocol):
    """What a talk waits for that sleeps until somebody wakes it."""

    def ring(self) -> None: ...


@dataclass(slots=True)
class Member:
    """A worker that was started here."""

    core: Core
    worker: str
    token: str
    bell: Bell
    queues: set[str] = field(default_factory=set)
    begun: bool = False
    ended: bool = False


@dataclass(slots=True)
class Post:
    """A queue that members of the crew work on, and the station that hears of it."""

    queue: str
    state: ListeningState[Notice]
    begun: bool = False


class Crew(ABC):
    """Who works here, and on what; and who is told of it."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.posts: dict[str, Post] = {}
        self.handlers: dict[str, list[Handler]] = {}
        self._surplus: list[Post] = []

    @abstractmethod
    def new_bell(self) -> Bell: ...

    @abstractmethod
    def tell(self, queue: str, kind: str, message: Any) -> None:
        """Lets the handlers of a queue know."""

    def call_handlers(self, queue: str, kind: str, message: Any) -> list[object]:
        """What the handlers of a queue return; one that fails keeps no other from hearing."""
        found: list[object] = []
        for handler in tuple(self.handlers.get(queue, ())):
            try:
                found.append(handler(kind, message))
            except Exception:
                log.exception("a handler of queue %r failed", queue)
        return found

    def hire(self, member: Member) -> None:
        former = self.members.get(member.worker)
        if former is not None:
            self.dismiss(former)
        self.members[member.worker] = member

    def member(self, worker: str) -> Member:
        """The worker of this name, if it was started here and its session has not ended."""
        try:
            return self.members[worker]
        except KeyError:
            raise SessionEnded(worker) from None

    def dismiss(self, member: Member) -> None:
        """It works here no more, and does nothing more in the background."""
        member.ended = True
        member.bell.ring()
        if self.members.get(member.worker) is member:
            del self.members[member.worker]

    def take(self, post: Post) -> None:
        """Adds a post; of several that were begun for a queue at the same time one is enough."""
        if self.posts.setdefault(post.queue, post) is not post:
            self._surplus.append(post)

    def left(self) -> list[Post]:
        """The posts that are not needed any more; they are forgotten."""
        wanted = {queue for member in list(self.members.values()) for queue in member.queues}
        empty = [post for post in list(self.posts.values()) if post.queue not in wanted]
        for post in empty:
            self.posts.pop(post.queue, None)
        while self._surplus:
            empty.append(self._surplus.pop())
        for post in empty:
            post.state.closed = True
        return empty


class Face(Protocol):
    """A Worqr of either colour."""

    @property
    def core(self) -> Core: ...

    @property
    def crew(self) -> Crew: ...

    @property
    def workerId(self) -> str: ...

    @property
    def workerTimeout(self) -> float: ...

    @property
    def workerHeartbeatInterval(self) -> float: ...

    @property
    def workerCleanupInterval(self) -> float: ...


def named_worker(face: Face, worker: str | None) -> str:
    """The worker of this name; without one, that of the instance."""
    return face.workerId if worker is None else text("worker", worker, face.core.limits.name)
