"""An app: a namespace, the tasks that run in it and the options they share."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from headrace.app.async_clients import AsyncClients
from headrace.app.options import checked
from headrace.app.task import AsyncTask, Register, Task
from headrace.app.tracing import Tracing
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

URL_VARIABLE = "HEADRACE_URL"
DEFAULT_QUEUE = "default"
LONGEST_NAME = 250


class InlineBackend(Protocol):
    """Runs calls at once instead of putting them on a server."""

    def put(self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]) -> str:
        """Run a call and return the id of its job."""

    async def aput(
        self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]
    ) -> str:
        """Run a call in the event loop and return the id of its job."""

    def result(self, job_id: str) -> Any:
        """Return the result of a job that was run."""


class App:
    """Tasks by name, and the namespace of the same name that holds their jobs.

    Without `url` the app uses the environment variable HEADRACE_URL, or else the embedded server.
    The options are defaults for every task. `failure_type` maps an exception to the failure type
    of its job; the default is the name of the exception's class.

    >>> import headrace
    >>> app = headrace.App("shop")
    >>> @app.task(queue="mail", retries=3)
    ... def send(to: str) -> str:
    ...     return f"sent to {to}"

    `send.put(to="ada")` puts a job, and `headrace work shop:app` runs it. In a test:

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
        self.inline: InlineBackend | None = None
        self.telemetry: Tracing | None = None
        self._wanted = connecting.ConnectOptions(
            self.url,
            name,
            shards=shards,
            codec=codec,
            limits=limits,
            library=library,
            retry_for=retry_for,
        )
        self._connect_lock = threading.Lock()
        # The sync client once it is connected. Puts read it here, without the property.
        self.connected: Client | None = None
        self._async_clients = AsyncClients(self._wanted)

    def __repr__(self) -> str:
        return f"<App {self.name!r} with {len(self.tasks)} tasks>"

    def task(
        self,
        *unexpected: object,
        name: str | None = None,
        run: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Register:
        """Return a decorator that makes a task of a function.

        Its jobs get these options. Async functions run in the worker's event loop, sync functions
        in a thread. run="process" isolates either in a process of its own, which is killed when
        the timeout has passed. Raises InvalidArgument if an option is unknown, the name is taken or
        a parameter has a type that cannot be serialized.

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
                    f"app {self.name!r} already has a task {known!r}; name this one differently: "
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
        """Return a decorator that makes a task the server puts on a cron schedule.

        Workers create the schedule on the server, which keeps the time. A changed expression
        replaces the old one. Raises InvalidArgument if the expression or the zone is invalid, or
        the function has required parameters.

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
        """The sync client of this app, connected on first use; all threads share it.

        Raises ServerUnavailable if it cannot connect.
        """
        return self.connected or self._connect()

    def _connect(self) -> Client:
        with self._connect_lock:
            if self.connected is None:
                self.connected = connecting.connect(self._wanted)
            return self.connected

    async def async_client(self) -> AsyncClient:
        """Return the asyncio client of this app; every event loop has its own.

        Raises ServerUnavailable if it cannot connect.
        """
        return await self._async_clients.get()

    @property
    def codec(self) -> Codec:
        """The codec that encodes data and results."""
        return self._wanted.codec

    @property
    def limits(self) -> Limits:
        """The size limits of names, payloads and batches."""
        return self._wanted.limits

    @property
    def place(self) -> connecting.ConnectOptions:
        """The server and namespace that hold the jobs."""
        return self._wanted

    # for tests

    @contextmanager
    def bound_to(
        self, url: str, *, namespace: str | None = None, library: Library | None = None
    ) -> Iterator[Self]:
        """Use another server within a `with` block.

        The namespace is the app's name unless given.

            with private_server() as url, app.bound_to(url):
                send.put(to="ada")
                app.run_pending()
        """
        own = self.url, self._wanted, self.connected, self._async_clients
        asked = connecting.ConnectOptions(url, namespace or self.name, library=library)
        self.url = url
        self._wanted = replace(
            self._wanted, url=asked.url, namespace=asked.namespace, library=asked.library
        )
        self.connected = None
        self._async_clients = AsyncClients(self._wanted)
        try:
            yield self
        finally:
            self.close()
            self.url, self._wanted, self.connected, self._async_clients = own

    @contextmanager
    def inlined(self, *, keep_failures: bool = False) -> Iterator[list[Ran]]:
        """Run every call at once, without a server, within a `with` block.

        Yields the list of runs. A put raises what its task raises; with keep_failures the list
        only records it.
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

        This includes jobs that are put meanwhile. With reraise it raises what the first failing
        task raised. Raises RuntimeError after `most` jobs, or if an event loop is running.

            job_id = send.put(to="ada")
            [run] = app.run_pending()
            assert run.outcome == "completed"
        """
        from headrace.testing.run_pending import run_pending  # noqa: PLC0415 - only tests need it

        return run_pending(self, queues=queues, reraise=reraise, most=most)

    async def arun_pending(
        self, *, queues: Iterable[str] | None = None, reraise: bool = False, most: int = 1000
    ) -> list[Ran]:
        """Do the same as run_pending in an event loop; sync tasks run in a thread, one by one."""
        from headrace.testing.run_pending import arun_pending  # noqa: PLC0415 - only tests need it

        return await arun_pending(self, queues=queues, reraise=reraise, most=most)

    def close(self) -> None:
        """Close the connections of the sync client; the next use connects again."""
        with self._connect_lock:
            found, self.connected = self.connected, None
        if found is not None:
            found.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the next use connects again."""
        await self._async_clients.close()


def _class_name(error: BaseException) -> str:
    return type(error).__name__
