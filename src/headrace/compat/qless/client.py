"""The Qless client, sync and async."""

from __future__ import annotations

from typing import ClassVar

from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.compat.opening import AsyncCompatClient, CompatClient
from headrace.compat.qless.context import QlessContext
from headrace.compat.qless.groups import AsyncQlessGroup, QlessGroup
from headrace.compat.qless.jobs import AsyncQlessJobs, QlessJobs
from headrace.compat.qless.operations import (
    admin,
    config,
    lookup,
    monitoring,
    recurring,
    script_calls,
)
from headrace.compat.qless.queues import AsyncQlessQueues, QlessQueues
from headrace.operations.method import method


class QlessConfigBase:
    """The methods that QlessConfig and AsyncQlessConfig share."""

    get = method(config.get_config)
    set = method(config.set_config)


class QlessConfig(QlessConfigBase, QlessGroup):
    """The options of qless: `config["heartbeat"] = 30`."""

    def __getitem__(self, option: str) -> config.Number:
        return self.get(option)  # type: ignore[return-value]  # one option has one value

    def __setitem__(self, option: str, value: config.Number) -> None:
        self.set(option, value)

    def __delitem__(self, option: str) -> None:
        self.set(option)


class AsyncQlessConfig(QlessConfigBase, AsyncQlessGroup):
    """The options of qless: `await config["heartbeat"]`."""

    __getitem__ = method(config.get_config)


class QlessWorkersBase:
    """The methods that QlessWorkers and AsyncQlessWorkers share."""

    __getitem__ = method(monitoring.worker)
    counts = method(monitoring.worker_counts)


class QlessWorkers(QlessWorkersBase, QlessGroup):
    """The workers: `workers["host-4925"]`."""


class AsyncQlessWorkers(QlessWorkersBase, AsyncQlessGroup):
    """The workers: `await workers["host-4925"]`."""


class QlessThrottlesBase:
    """The methods that QlessThrottles and AsyncQlessThrottles share."""

    delete = method(admin.delete_throttle)
    get = method(admin.get_throttle)
    set = method(admin.set_throttle)


class QlessThrottles(QlessThrottlesBase, QlessGroup):
    """Named limits that jobs share."""


class AsyncQlessThrottles(QlessThrottlesBase, AsyncQlessGroup):
    """The asyncio form of QlessThrottles."""


class QlessBase:
    """The methods that Qless and AsyncQless share."""

    codec: ClassVar[str | Codec] = "json"
    context: QlessContext

    cancel = method(admin.cancel)
    complete = method(script_calls.complete)
    depends = method(admin.depends)
    fail = method(script_calls.fail)
    failed = method(lookup.failed_documents)
    get = method(script_calls.get)
    get_config = method(config.get_config)
    heartbeat = method(script_calls.heartbeat)
    pause = method(admin.pause)
    peek = method(script_calls.peek)
    pop = method(script_calls.pop)
    priority = method(admin.change_priority)
    put = method(script_calls.put)
    requeue = method(admin.requeue)
    retry = method(script_calls.retry)
    set_config = method(config.set_config)
    stats = method(script_calls.stats)
    tag = method(admin.tag)
    tags = method(lookup.tags)
    timeout = method(admin.timeout)
    track = method(admin.track)
    unfail = method(admin.unfail)
    unpause = method(admin.unpause)
    unrecur = method(recurring.unrecur)
    untag = method(admin.untag)
    untrack = method(admin.untrack)

    @property
    def worker_name(self) -> str:
        """The worker that pops when a call names no other."""
        return self.context.worker_name


class Qless(QlessBase, CompatClient):
    """A namespace with the API of qless.

    `client` is a Client, or a URL: then Qless opens a client of its own. The default worker name
    is <hostname>-<pid>. With `higher_first`, a higher priority runs first, as in later versions
    of qless. With `raises`, a refused call raises instead of returning False.
    """

    def __init__(
        self,
        client: Client | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.context = QlessContext(worker, higher_first=higher_first, raises=raises)
        super().__init__(client, namespace)
        self.config = QlessConfig(self)
        self.jobs = QlessJobs(self)
        self.queues = QlessQueues(self)
        self.throttles = QlessThrottles(self)
        self.workers = QlessWorkers(self)


class AsyncQless(QlessBase, AsyncCompatClient):
    """The asyncio form of Qless. With a URL, the first awaited call connects."""

    def __init__(
        self,
        client: AsyncClient | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.context = QlessContext(worker, higher_first=higher_first, raises=raises)
        super().__init__(client, namespace)
        self.config = AsyncQlessConfig(self)
        self.jobs = AsyncQlessJobs(self)
        self.queues = AsyncQlessQueues(self)
        self.throttles = AsyncQlessThrottles(self)
        self.workers = AsyncQlessWorkers(self)
