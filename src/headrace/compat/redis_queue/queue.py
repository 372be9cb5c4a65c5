"""RedisQueue, for code that blocks and for code that awaits."""

from __future__ import annotations

import os
import socket

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncOpened, Opened, awaiting
from headrace.compat.redis_queue import talks
from headrace.engine.check import Span, milliseconds, text
from headrace.operations.core import Core
from headrace.operations.method import blocking, named

DAY = 86_400


class Timeouts:
    """How long a pop waits, after what time a task is late, and when a message is too old."""

    core: Core

    def _choose(self, poptimeout: Span | None, tasktimeout: Span, exptime: Span | None) -> None:
        milliseconds("tasktimeout", tasktimeout)
        for name, span in (("poptimeout", poptimeout), ("exptime", exptime)):
            if span is not None:
                milliseconds(name, span)
        self.poptimeout = poptimeout
        self.tasktimeout = tasktimeout
        self.exptime = exptime
        self.worker = f"{socket.gethostname()}-{os.getpid()}"

    def ingress(self, qkey: str) -> str:
        """The key of the list on which a program pushes ids that knows nothing but LPUSH."""
        return self.core.key(0, f"ingress:{text('queue', qkey, self.core.limits.name)}")


@named
class RedisQueue(Timeouts, Opened):
    """Queues whose ids come back until they are done, for code that blocks.

    Times are seconds: how long a pop waits (None: for ever), after what time what was popped is
    late, and for how long a message may wait (None: for ever).
    """

    def __init__(
        self,
        client: Client | str,
        poptimeout: Span | None = 30,
        tasktimeout: Span = 30,
        exptime: Span | None = DAY,
    ) -> None:
        self._choose(poptimeout, tasktimeout, exptime)
        Opened.__init__(self, client)

    mark_done = blocking(talks.mark_done)
    push_msg = blocking(talks.push_msg)
    safe_pop = blocking(talks.safe_pop)
    safe_pop_msg = blocking(talks.safe_pop_msg)


@named
class AsyncRedisQueue(Timeouts, AsyncOpened):
    """The same for code that awaits."""

    def __init__(
        self,
        client: AsyncClient | str,
        poptimeout: Span | None = 30,
        tasktimeout: Span = 30,
        exptime: Span | None = DAY,
    ) -> None:
        self._choose(poptimeout, tasktimeout, exptime)
        AsyncOpened.__init__(self, client)

    mark_done = awaiting(talks.mark_done)
    push_msg = awaiting(talks.push_msg)
    safe_pop = awaiting(talks.safe_pop)
    safe_pop_msg = awaiting(talks.safe_pop_msg)
