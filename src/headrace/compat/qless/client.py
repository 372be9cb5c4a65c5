"""qless: the door, for code that blocks and for code that awaits."""

from __future__ import annotations

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncOpened, Opened, awaiting
from headrace.compat.qless.dialect import Dialect
from headrace.compat.qless.jobs import AsyncJobs, Jobs
from headrace.compat.qless.part import AsyncPart, Part
from headrace.compat.qless.queues import AsyncQueues, Queues
from headrace.compat.qless.talks import (
    finding,
    options,
    recurring,
    scripts,
    steering,
    throttling,
    watching,
)
from headrace.operations.method import blocking, named


@named
class Config(Part):
    """The configuration, for code that blocks: config["heartbeat"] = 30."""

    get = blocking(options.get_config)
    set = blocking(options.set_config)

    def __getitem__(self, option: str) -> options.Number:
        return self.get(option)  # type: ignore[return-value]  # one option has one value

    def __setitem__(self, option: str, value: options.Number) -> None:
        self.set(option, value)

    def __delitem__(self, option: str) -> None:
        self.set(option)


@named
class AsyncConfig(AsyncPart):
    """The configuration, for code that awaits: await config["heartbeat"]."""

    get = awaiting(options.get_config)
    set = awaiting(options.set_config)
    __getitem__ = awaiting(options.get_config)


@named
class Workers(Part):
    """The workers, for code that blocks: workers["host-4925"]."""

    counts = blocking(watching.worker_counts)
    __getitem__ = blocking(watching.worker)


@named
class AsyncWorkers(AsyncPart):
    """The workers, for code that awaits: await workers["host-4925"]."""

    counts = awaiting(watching.worker_counts)
    __getitem__ = awaiting(watching.worker)


@named
class Throttles(Part):
    """Limits that jobs share, for code that blocks."""

    delete = blocking(throttling.delete_throttle)
    get = blocking(throttling.get_throttle)
    set = blocking(throttling.set_throttle)


@named
class AsyncThrottles(AsyncPart):
    """Limits that jobs share, for code that awaits."""

    delete = awaiting(throttling.delete_throttle)
    get = awaiting(throttling.get_throttle)
    set = awaiting(throttling.set_throttle)


@named
class Qless(Opened):
    """A namespace in the words of qless, for code that blocks.

    It takes a Client, or a URL for a client of its own. The worker is called <hostname>-<pid>
    unless a name is given. With higher_first a higher priority runs sooner, as in later versions of
    qless; with raises what is refused raises, instead of answering False.
    """

    codec = "json"

    def __init__(
        self,
        client: Client | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.dialect = Dialect(worker, higher_first=higher_first, raises=raises)
        super().__init__(client, namespace)
        self.config = Config(self)
        self.jobs = Jobs(self)
        self.queues = Queues(self)
        self.throttles = Throttles(self)
        self.workers = Workers(self)

    cancel = blocking(steering.cancel)
    complete = blocking(scripts.complete)
    depends = blocking(steering.depends)
    fail = blocking(scripts.fail)
    failed = blocking(finding.failed_documents)
    get = blocking(scripts.get)
    get_config = blocking(options.get_config)
    heartbeat = blocking(scripts.heartbeat)
    pause = blocking(steering.pause)
    peek = blocking(scripts.peek)
    pop = blocking(scripts.pop)
    priority = blocking(steering.change_priority)
    put = blocking(scripts.put)
    requeue = blocking(steering.requeue)
    retry = blocking(scripts.retry)
    set_config = blocking(options.set_config)
    stats = blocking(scripts.stats)
    tag = blocking(steering.tag)
    tags = blocking(finding.tags)
    timeout = blocking(steering.timeout)
    track = blocking(steering.track)
    unfail = blocking(steering.unfail)
    unpause = blocking(steering.unpause)
    unrecur = blocking(recurring.unrecur)
    untag = blocking(steering.untag)
    untrack = blocking(steering.untrack)

    @property
    def worker_name(self) -> str:
        """Who pops, where nobody else is named."""
        return self.dialect.worker_name


@named
class AsyncQless(AsyncOpened):
    """A namespace in the words of qless, for code that awaits.

    It takes an AsyncClient, or a URL for a client of its own, which its first call opens. The
    options are those of Qless.
    """

    codec = "json"

    def __init__(
        self,
        client: AsyncClient | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.dialect = Dialect(worker, higher_first=higher_first, raises=raises)
        super().__init__(client, namespace)
        self.config = AsyncConfig(self)
        self.jobs = AsyncJobs(self)
        self.queues = AsyncQueues(self)
        self.throttles = AsyncThrottles(self)
        self.workers = AsyncWorkers(self)

    cancel = awaiting(steering.cancel)
    complete = awaiting(scripts.complete)
    depends = awaiting(steering.depends)
    fail = awaiting(scripts.fail)
    failed = awaiting(finding.failed_documents)
    get = awaiting(scripts.get)
    get_config = awaiting(options.get_config)
    heartbeat = awaiting(scripts.heartbeat)
    pause = awaiting(steering.pause)
    peek = awaiting(scripts.peek)
    pop = awaiting(scripts.pop)
    priority = awaiting(steering.change_priority)
    put = awaiting(scripts.put)
    requeue = awaiting(steering.requeue)
    retry = awaiting(scripts.retry)
    set_config = awaiting(options.set_config)
    stats = awaiting(scripts.stats)
    tag = awaiting(steering.tag)
    tags = awaiting(finding.tags)
    timeout = awaiting(steering.timeout)
    track = awaiting(steering.track)
    unfail = awaiting(steering.unfail)
    unpause = awaiting(steering.unpause)
    unrecur = awaiting(recurring.unrecur)
    untag = awaiting(steering.untag)
    untrack = awaiting(steering.untrack)

    @property
    def worker_name(self) -> str:
        """Who pops, where nobody else is named."""
        return self.dialect.worker_name
