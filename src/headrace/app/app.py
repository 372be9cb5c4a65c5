"""An app: a namespace, the tasks that run in it, and the options they share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from headrace.app.backoff import Backoff
from headrace.app.clients import Clients
from headrace.app.options import JobOptions, checked
from headrace.app.task import AsyncTask, Register, Task
from headrace.app.tracing import Tracing
from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.engine.check import Limits, text
from headrace.engine.script import Library
from headrace.errors import InvalidArgument
from headrace.operations.schedule_values import rule_of

if TYPE_CHECKING:
    from datetime import timedelta

    from headrace.testing.report import Ran

URL_VARIABLE = "HEADRACE_URL"
DEFAULT_QUEUE = "default"
LONGEST_NAME = 250


class Inline(Protocol):
    """Where calls go that are not put on a server but run at once."""

    def put(self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]) -> str: ...

    async def aput(
        self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]
    ) -> str: ...

    def result(self, job_id: str) -> Any: ...


class App:
    """Tasks by name, and the namespace of that name where their jobs are.

    Without a URL it is that of the environment variable HEADRACE_URL, else the embedded server. The
    options are defaults for every task. `failure_type` names failures by their exceptions.
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
        **options: Unpack[JobOptions],
    ) -> None:
        self.name = text("the name of an app", name, LONGEST_NAME)
        self.url = url or os.environ.get(URL_VARIABLE)
        self.failure_type = failure_type or _class_name
        self.defaults = {"queue": DEFAULT_QUEUE, "backoff": Backoff(), **checked(options)}
        self.tasks: dict[str, Task[..., Any]] = {}
        self.crons: dict[str, dict[str, Any]] = {}
        self.inline: Inline | None = None
        self.telemetry: Tracing | None = None
        self._wanted = connecting.wanted(
            self.url, name, shards, codec, limits, library, retry_for, 5
        )
        self._clients = Clients(self._wanted)

    def __repr__(self) -> str:
        return f"<App {self.name!r} with {len(self.tasks)} tasks>"

    def task(
        self,
        *unexpected: object,
        name: str | None = None,
        run: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Register:
        """Makes a task of a function; its jobs get these options.

        Async functions run in the worker's loop, plain ones in a thread; run="process" isolates
        either in a process of its own, which is killed when its timeout has passed.
        """
        if unexpected:
            raise InvalidArgument("write @app.task() with parentheses, and what you give by name")

        def register(function: Callable[..., Any], /) -> Any:
            known = text("the name of a task", name or function.__name__, LONGEST_NAME)
            if known in self.tasks:
                raise InvalidArgument(
                    f"there is a task {known!r} already; give this one a name: @app.task(name=...)"
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
        **options: Unpack[JobOptions],
    ) -> Register:
        """Makes a task that is put again and again, by a cron expression in a time zone.

        Workers tell the server, which keeps the time; a new expression replaces the old.
        """
        if not isinstance(expression, str):
            raise InvalidArgument("write @app.cron('*/5 * * * *')")
        rule_of(None, expression, zone)

        def register(function: Callable[..., Any], /) -> Any:
            task = self.task(name=name, run=run, **options)(function)
            task.signature.pack((), {})
            self.crons[task.name] = {"cron": expression, "zone": zone}
            return task

        return register

    @property
    def client(self) -> Client:
        """The client of this app, for code that blocks; connected when first used."""
        return self._clients.blocking()

    async def async_client(self) -> AsyncClient:
        """The client of this app, for code that awaits; one for each event loop."""
        return await self._clients.awaiting()

    @property
    def codec(self) -> Codec:
        """How data and results become bytes."""
        return self._wanted.codec

    @property
    def limits(self) -> Limits:
        """How large things may be."""
        return self._wanted.limits

    @property
    def place(self) -> connecting.Wanted:
        """Where its jobs are."""
        return self._wanted

    # for tests

    @contextmanager
    def bound_to(
        self, url: str, *, namespace: str | None = None, library: Library | None = None
    ) -> Iterator[Self]:
        """In the block its jobs are in another place, by default in the namespace of its name."""
        own = self.url, self._wanted, self._clients
        asked = connecting.wanted(url, namespace or self.name, None, "json", None, library, 0, 1)
        self.url = url
        self._wanted = replace(
            self._wanted, url=asked.url, namespace=asked.namespace, library=asked.library
        )
        self._clients = Clients(self._wanted)
        try:
            yield self
        finally:
            self.close()
            self.url, self._wanted, self._clients = own

    @contextmanager
    def inlined(self, *, keep_failures: bool = False) -> Iterator[list[Ran]]:
        """In the block what is put runs at once, without a server; gives the list of runs.

        What a task raises is raised by its put, or with keep_failures only noted.
        """
        from headrace.testing.inline import Inline  # noqa: PLC0415 - only tests need it

        own, inline = self.inline, Inline(self, keep_failures=keep_failures)
        self.inline = inline
        try:
            yield inline.runs
        finally:
            self.inline = own

    def run_pending(
        self, *, queues: Iterable[str] | None = None, reraise: bool = False, most: int = 1000
    ) -> list[Ran]:
        """Runs here, one after the other, every job that can be had now, also those put meanwhile.

        With reraise, what the first failing task raises is raised. More than `most` are too many.
        """
        from headrace.testing.pending import run_pending  # noqa: PLC0415

        return run_pending(self, queues=queues, reraise=reraise, most=most)

    async def arun_pending(
        self, *, queues: Iterable[str] | None = None, reraise: bool = False, most: int = 1000
    ) -> list[Ran]:
        """The same for code that awaits; plain functions run in a thread, one after the other."""
        from headrace.testing.pending import arun_pending  # noqa: PLC0415

        return await arun_pending(self, queues=queues, reraise=reraise, most=most)

    def close(self) -> None:
        """Closes the connections of the client for code that blocks."""
        self._clients.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        await self._clients.aclose()


def _class_name(error: BaseException) -> str:
    return type(error).__name__
