"""An app: a namespace, its tasks, and the default options of these tasks."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self, Unpack

from headrace.app.async_clients import AsyncClients
from headrace.app.options import checked
from headrace.app.task import AsyncTask, Register, Task
from headrace.app.tracing_hooks import Tracing
from headrace.backoff import Backoff
from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.engine.check import Limits, text
from headrace.engine.script import Library
from headrace.errors import InvalidArgument
from headrace.operations.schedules import rule_of
from headrace.options import TaskOptions

if TYPE_CHECKING:
    from datetime import timedelta

    from headrace.testing.calling import Ran
    from headrace.testing.inline import InlineRunner

URL_VARIABLE = "HEADRACE_URL"
DEFAULT_QUEUE = "default"
LONGEST_NAME = 250


class App:
    """A collection of tasks. The namespace of the tasks' jobs has the same name as the app.

    Without `url`, the app uses the URL in the environment variable HEADRACE_URL. If this variable
    is not set, the app uses the embedded server. The task options passed here are the defaults for
    every task of the app. `durability` also applies to the outcomes that workers of the app send.
    `failure_type` is a function that maps an exception of a task to the failure type of the job.
    The default failure type is the name of the exception's class.

    >>> import headrace
    >>> app = headrace.App("shop")
    >>> @app.task(queue="mail", retries=3)
    ... def send(to: str) -> str:
    ...     return f"sent to {to}"

    `send.put(to="ada")` puts a job, and `headrace work shop:app` runs the job. In a test, run jobs
    without a server:

    >>> with app.inlined() as runs:
    ...     job_id = send.put(to="ada")
    >>> runs[0].result
    'sent to ada'
    """

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        shards: int | None = None,
        codec: str | Codec = "json",
        limits: Limits | None = None,
        library: Library | None = None,
        retry_for: float | timedelta = 15,
        failure_type: Callable[[BaseException], str] | None = None,
        **options: Unpack[TaskOptions],
    ) -> None:
        self.name = text("the name of an app", name, LONGEST_NAME)
        self.url = url or os.environ.get(URL_VARIABLE)
        self.failure_type = failure_type or _class_name
        self.defaults = {"queue": DEFAULT_QUEUE, "backoff": Backoff(), **checked(options)}
        self.tasks: dict[str, Task[..., Any]] = {}
        self.crons: dict[str, dict[str, Any]] = {}
        self.inline: InlineRunner | None = None
        self.telemetry: Tracing | None = None
        # The server and namespace that hold the jobs.
        self.place = connecting.ConnectOptions(
            self.url,
            name,
            shards=shards,
            codec=codec,
            limits=limits,
            library=library,
            retry_for=retry_for,
            durability=options.get("durability") or 0,
        )
        self._connect_lock = threading.Lock()
        # The connected sync client. `put` reads this attribute, because an attribute is faster than
        # a property.
        self.connected: Client | None = None
        self._async_clients = AsyncClients(self.place)

    def __repr__(self) -> str:
        return f"<App {self.name!r} with {len(self.tasks)} tasks>"

    def task(
        self,
        *unexpected: object,
        name: str | None = None,
        run: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Register:
        """Return a decorator that turns a function into a task.

        The options apply to all jobs of the task. Async functions run in the worker's event loop,
        and sync functions run in a thread. With run="process", a function of either kind runs in an
        isolated process. The worker kills this process when the timeout has passed. Raises
        InvalidArgument if an option is unknown, the name is already in use or a parameter has a
        type that cannot be serialized.

        >>> import headrace
        >>> app = headrace.App("shop")
        >>> @app.task(queue="images", run="process", timeout=60)
        ... def resize(path: str, width: int = 800) -> None: ...
        >>> resize.data("cat.png")
        {'task': 'resize', 'args': {'path': 'cat.png'}}
        """
        if unexpected:
            raise InvalidArgument("write @app.task() with parentheses, and pass options by keyword")

        def register(function: Callable[..., Any], /) -> Any:
            known = text("the name of a task", name or function.__name__, LONGEST_NAME)
            if known in self.tasks:
                raise InvalidArgument(
                    f"app {self.name!r} already has a task {known!r}; choose another name: "
                    "@app.task(name=...)"
                )
            kind = AsyncTask if inspect.iscoroutinefunction(function) else Task
            task = self.tasks[known] = kind(self, function, known, run, options)
            return task

        return register

    def cron(
        self,
        expression: str,
        *,
        zone: str = "UTC",
        name: str | None = None,
        run: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Register:
        """Return a decorator that turns a function into a task with a cron schedule.

        Workers create the schedule on the server, and the server puts a job each time the schedule
        is due. If the expression in the code changes, the new expression replaces the old one on
        the server. Raises InvalidArgument if the expression or the zone is invalid, or the function
        has required parameters.

        >>> import headrace
        >>> app = headrace.App("shop")
        >>> @app.cron("0 3 * * *", zone="Europe/Berlin")
        ... def clean_up() -> None: ...
        """
        if not isinstance(expression, str):
            raise InvalidArgument("a cron task needs an expression: write @app.cron('*/5 * * * *')")
        rule_of(None, expression, zone)

        def register(function: Callable[..., Any], /) -> Any:
            task = self.task(name=name, run=run, **options)(function)
            task.signature.pack((), {})
            self.crons[task.name] = {"cron": expression, "zone": zone}
            return task

        return register

    @property
    def client(self) -> Client:
        """The sync client of this app, shared by all threads and connected on first use.

        Raises ServerUnavailable if the client cannot connect.
        """
        return self.connected or self._connect()

    def _connect(self) -> Client:
        with self._connect_lock:
            if self.connected is None:
                self.connected = connecting.connect(self.place)
            return self.connected

    async def async_client(self) -> AsyncClient:
        """Return the asyncio client of this app; every event loop has its own client.

        Raises ServerUnavailable if the client cannot connect.

        >>> import asyncio
        >>> async def count_reports() -> int:
        ...     return await (await app.async_client()).queue("reports").length()
        >>> asyncio.run(count_reports())
        0
        """
        return await self._async_clients.get()

    @property
    def codec(self) -> Codec:
        """The codec that encodes data and results."""
        return self.place.codec

    @property
    def limits(self) -> Limits:
        """The size limits of names, payloads and batches."""
        return self.place.limits

    # for tests

    @contextmanager
    def bound_to(
        self, url: str, *, namespace: str | None = None, library: Library | None = None
    ) -> Iterator[Self]:
        """Make the app use another server within a `with` block.

        The default of `namespace` is the app's name. Raises InvalidArgument if the URL or the
        namespace is invalid.

        >>> from headrace.testing import private_server
        >>> with private_server() as url, app.bound_to(url):
        ...     job_id = send.put(to="ada")
        ...     [run] = app.run_pending()
        >>> run.result
        'sent to ada'
        """
        own = self.url, self.place, self.connected, self._async_clients
        asked = connecting.ConnectOptions(url, namespace or self.name, library=library)
        self.url = url
        self.place = copy(self.place)
        self.place.url, self.place.namespace = asked.url, asked.namespace
        self.place.library = asked.library
        self.connected = None
        self._async_clients = AsyncClients(self.place)
        try:
            yield self
        finally:
            self.close()
            self.url, self.place, self.connected, self._async_clients = own

    @contextmanager
    def inlined(self, *, keep_failures: bool = False) -> Iterator[list[Ran]]:
        """Run the task of every put immediately, without a server, within a `with` block.

        Yields the list of runs. If a task raises an exception, the put raises that exception. With
        `keep_failures`, the list records the exception instead.

        >>> with app.inlined() as runs:
        ...     job_id = send.put(to="ada")
        >>> runs[0].result
        'sent to ada'
        """
        from headrace.testing.inline import InlineRunner  # noqa: PLC0415 - only tests need it

        own, inline = self.inline, InlineRunner(self, keep_failures=keep_failures)
        self.inline = inline
        try:
            yield inline.runs
        finally:
            self.inline = own

    def run_pending(
        self, *, queues: Iterable[str] | None = None, reraise: bool = False, most: int = 1000
    ) -> list[Ran]:
        """Run every job that is available now, one after the other, in this process.

        The call also runs the jobs that these tasks put. With `reraise`, the call raises the
        exception of the first task that fails. Raises RuntimeError if more than `most` jobs are
        available or an event loop is running.

        >>> job_id = send.put(to="ada")
        >>> [run] = app.run_pending()
        >>> run.outcome
        'completed'
        """
        from headrace.testing.run_pending import run_pending  # noqa: PLC0415 - only tests need it

        return run_pending(self, queues=queues, reraise=reraise, most=most)

    async def arun_pending(
        self, *, queues: Iterable[str] | None = None, reraise: bool = False, most: int = 1000
    ) -> list[Ran]:
        """Run every available job in the running event loop; see App.run_pending.

        The arguments and errors are those of App.run_pending. Sync tasks run in a thread, one by
        one.
        """
        from headrace.testing.run_pending import arun_pending  # noqa: PLC0415 - only tests need it

        return await arun_pending(self, queues=queues, reraise=reraise, most=most)

    def close(self) -> None:
        """Close the connections of the sync client. The next use of the app connects again."""
        with self._connect_lock:
            found, self.connected = self.connected, None
        if found is not None:
            found.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop.

        The next use of the app connects again.
        """
        await self._async_clients.close()


def _class_name(error: BaseException) -> str:
    return type(error).__name__
