"""The RedisQueue client, sync and async."""

from __future__ import annotations

import os
import socket

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncCompatClient, CompatClient
from headrace.compat.redis_queue import operations
from headrace.engine.check import Span, milliseconds, text
from headrace.operations.core import Core
from headrace.operations.method import method

DAY = 86_400


class RedisQueueBase:
    """The methods and options that RedisQueue and AsyncRedisQueue share."""

    core: Core

    mark_done = method(operations.mark_done)
    push_msg = method(operations.push_msg)
    safe_pop = method(operations.safe_pop)
    safe_pop_msg = method(operations.safe_pop_msg)

    def _set_options(
        self, poptimeout: Span | None, tasktimeout: Span, exptime: Span | None
    ) -> None:
        milliseconds("tasktimeout", tasktimeout)
        for name, duration in (("poptimeout", poptimeout), ("exptime", exptime)):
            if duration is not None:
                milliseconds(name, duration)
        self.poptimeout = poptimeout
        self.tasktimeout = tasktimeout
        self.exptime = exptime
        self.worker = f"{socket.gethostname()}-{os.getpid()}"

    def ingress(self, qkey: str) -> str:
        """Return the key of the list to which a program without Headrace can LPUSH ids."""
        return self.core.key(0, f"ingress:{text('queue', qkey, self.core.limits.name)}")


class RedisQueue(RedisQueueBase, CompatClient):
    """Queues whose ids come back until they are marked as done.

    Times are seconds. `poptimeout` is how long a pop waits (None: without a limit), `tasktimeout`
    is the time after which a popped id comes back, and `exptime` is how long a message may wait
    (None: without a limit).
    """

    def __init__(
        self,
        client: Client | str,
        poptimeout: Span | None = 30,
        tasktimeout: Span = 30,
        exptime: Span | None = DAY,
    ) -> None:
        self._set_options(poptimeout, tasktimeout, exptime)
        super().__init__(client)


class AsyncRedisQueue(RedisQueueBase, AsyncCompatClient):
    """The asyncio form of RedisQueue."""

    def __init__(
        self,
        client: AsyncClient | str,
        poptimeout: Span | None = 30,
        tasktimeout: Span = 30,
        exptime: Span | None = DAY,
    ) -> None:
        self._set_options(poptimeout, tasktimeout, exptime)
        super().__init__(client)
