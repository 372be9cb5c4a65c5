"""A task: a function whose calls can be put into a queue as jobs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import msgspec

from headrace.app.options import CARRIED, COMPUTED, checked
from headrace.app.signature import Signature
from headrace.app.tracing_hooks import UNTRACED, ReportIds
from headrace.client.queue import Queue
from headrace.codecs.codec import digest_of
from headrace.engine.check import Span, listed
from headrace.errors import (
    InvalidArgument,
    JobError,
    JobNotFound,
    NoResult,
    TaskFailed,
    WrongState,
)
from headrace.operations.queues import QueueRef
from headrace.operations.schedules import schedule_queue
from headrace.operations.values import Job
from headrace.options import SCHEDULE_OPTIONS, Put, TaskOptions

if TYPE_CHECKING:
    from headrace.app.app import App
    from headrace.app.context import Context
    from headrace.operations.core import Core
    from headrace.operations.schedules import Schedule
    from headrace.transport.drive import Operation

P = ParamSpec("P")
R = TypeVar("R")

RUNS = ("loop", "thread", "process")


class TaskWithOptions(Generic[P, R]):
    """The result of `task.options(...)`: a task with other options for its jobs."""

    def __init__(
        self, task: Task[P, R], options: dict[str, Any], *, carried: Mapping[str, Any]
    ) -> None:
        self.task = task
        self._queue_name: str = options["queue"]
        self._queue: Queue | None = None
        self._options = {
            name: value
            for name, value in options.items()
            if name not in ("queue", *CARRIED, *COMPUTED)
        }
        self._computed = {name: options[name] for name in COMPUTED if options.get(name)}
        self._carried = {name: options[name] for name in CARRIED if name in carried}

    def put(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Put a call of the function into the task's queue as a job, and return the job's id.

        Raises InvalidArgument if the arguments do not match the signature, JobExists if the id or
        the unique value is already in use, and ServerUnavailable if the server does not answer.

        >>> import headrace
        >>> app = headrace.App("shop")
        >>> @app.task(queue="mail")
        ... def send(to: str) -> str:
        ...     return f"sent to {to}"
        >>> with app.inlined():
        ...     job_id = send.put(to="ada")
        ...     send.result(job_id)
        'sent to ada'
        """
        app = self.task.app
        data = self._data(args, kwargs)
        options = self._options_for(data) if self._computed else self._options
        if app.inline is None and app.telemetry is None:
            return self._sync_queue().put(data, **options)
        with self._sending([data]) as report_ids:
            if app.inline is not None:
                job_id = app.inline.put(self.task, data, options)
            else:
                job_id = self._sync_queue().put(data, **options)
            report_ids([job_id])
        return job_id

    async def aput(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Put a call with the asyncio client; see Task.put."""
        app = self.task.app
        data = self._data(args, kwargs)
        options = self._options_for(data) if self._computed else self._options
        with self._sending([data]) as report_ids:
            if app.inline is not None:
                job_id = await app.inline.aput(self.task, data, options)
            else:
                client = await app.async_client()
                job_id = await client.queue(self._queue_name).put(data, **options)
            report_ids([job_id])
        return job_id

    def put_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """Put many calls, each a mapping of arguments by name, and return the job ids in order.

        Raises the same errors as `put`.

        >>> ids = send.put_many([{"to": "ada"}, {"to": "grace"}])
        """
        app = self.task.app
        datas, options = self._prepare_many(calls)
        with self._sending(datas) as report_ids:
            if app.inline is not None:
                ids = [app.inline.put(self.task, data, options) for data in datas]
            else:
                ids = self._sync_queue().put_many(self._items(datas), **options)
            report_ids(ids)
        return ids

    async def aput_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """Put many calls with the asyncio client; see Task.put_many."""
        app = self.task.app
        datas, options = self._prepare_many(calls)
        with self._sending(datas) as report_ids:
            if app.inline is not None:
                ids = [await app.inline.aput(self.task, data, options) for data in datas]
            else:
                queue = (await app.async_client()).queue(self._queue_name)
                ids = await queue.put_many(self._items(datas), **options)
            report_ids(ids)
        return ids

    def data(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """Return the job data that describes a call, to pass to a queue, a group or a chain.

        Raises InvalidArgument if the arguments do not match the signature.

        >>> send.data(to="ada")
        {'task': 'send', 'args': {'to': 'ada'}}
        """
        data = self._data(args, kwargs)
        if self.task.app.telemetry is not None:
            self.task.app.telemetry.carry([data])
        return data

    def _schedule(self, core: Core, cron: str, zone: str) -> Operation[Schedule]:
        """Create or update the cron schedule of this task.

        If the cron rule is the same as before, the schedule keeps the time of its next run.
        """
        data = self._data((), {})
        options = self._options_for(data) if self._computed else self._options
        accepted = {name: value for name, value in options.items() if name in SCHEDULE_OPTIONS}
        name = f"cron:{self.task.name}"
        queue = QueueRef(core, self._queue_name)
        return (yield from schedule_queue(queue, name, data, cron=cron, zone=zone, **accepted))

    def _sync_queue(self) -> Queue:
        client = self.task.app.connected or self.task.app.client
        queue = self._queue
        if queue is None or queue.core is not client.core:
            queue = self._queue = client.queue(self._queue_name)
        return queue

    def _data(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        data = {"task": self.task.name, "args": self.task.signature.pack(args, kwargs)}
        if self._carried:
            data |= msgspec.to_builtins(self._carried)
        return data

    def _sending(self, datas: list[dict[str, Any]]) -> AbstractContextManager[ReportIds]:
        tracing = self.task.app.telemetry
        if tracing is None:
            return UNTRACED
        return tracing.sending(self.task.name, self._queue_name, datas)

    def _prepare_many(
        self, calls: Iterable[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        every = listed("calls", calls, "arguments by name")
        for call in every:
            if not isinstance(call, Mapping):
                raise InvalidArgument(
                    "put_many needs a mapping of arguments for each call, not "
                    f"{type(call).__name__}: {self.task.name}.put_many([{{...}}, ...])"
                )
        if "id" in self._options:
            raise InvalidArgument("many jobs cannot share an id; put them one by one")
        return [self._data((), dict(call)) for call in every], self._options

    def _items(self, datas: list[dict[str, Any]]) -> list[Any]:
        if not self._computed:
            return datas
        return [Put(data, **self._compute(data["args"])) for data in datas]

    def _options_for(self, data: dict[str, Any]) -> dict[str, Any]:
        return self._options | self._compute(data["args"])

    def _compute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        found = dict(self._computed)
        for name, value in found.items():
            if callable(value):
                found[name] = value(**self.task.signature.unpack(arguments))
        if found.get("unique") is True:
            # The digest excludes the trace. Every put has a different trace, so equal calls would
            # get different digests.
            call = [self.task.name, dict(sorted(arguments.items()))]
            plain = msgspec.json.encode(call, order="sorted")
            found["unique"] = digest_of(self.task.app.codec, call, plain)
        return found


class Task(TaskWithOptions[P, R]):
    """A function whose calls can be put into a queue as jobs that workers run.

    Calling the task itself calls the function directly, without a job. `@app.task()` creates a
    task.
    """

    __name__: str

    def __init__(
        self, app: App, function: Callable[P, R], name: str, run: str | None, options: TaskOptions
    ) -> None:
        update_wrapper(self, function)
        self.app = app
        self.name = name
        self.function = function
        self.signature = Signature(name, function)
        self.run = _where_to_run(name, function, run)
        self.settings = {**app.defaults, **checked(options)}
        super().__init__(self, self.settings, carried={})

    def __repr__(self) -> str:
        return f"<Task {self.name!r} of {self.app.name!r}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, without putting a job."""
        return self.function(*args, **kwargs)

    def options(self, **options: Unpack[TaskOptions]) -> TaskWithOptions[P, R]:
        """Return a variant of this task whose jobs have these options.

        Raises InvalidArgument if an option is unknown or invalid, or if the timeout is longer than
        the timeout of the task.

        >>> job_id = send.options(priority=-1, retries=0).put(to="ada")
        """
        given = checked(options)
        own, asked = self.settings.get("timeout"), given.get("timeout")
        if own is not None and asked is not None and asked > own:
            raise InvalidArgument(
                f"timeout must be at most {own:g} s, the timeout of task {self.name!r}, not "
                f"{asked:g} s"
            )
        return TaskWithOptions(self, {**self.settings, **given}, carried=options)

    def at(self, when: datetime) -> TaskWithOptions[P, R]:
        """Return a variant of this task whose jobs start at `when`: `send.at(when).put(...)`."""
        return self.options(at=when)

    def after(self, delay: Span) -> TaskWithOptions[P, R]:
        """Return a variant of this task whose jobs start after a delay.

        Example: `send.after(60).put(...)`.
        """
        return self.options(delay=delay)

    def result(self, job_id: str, *, wait: Span | None = 0) -> R:
        """Return the result of a job; wait up to `wait` seconds until the job is complete.

        Raises TaskFailed if the job failed permanently, NoResult if the job is not complete in
        time, and JobNotFound if the job does not exist.

        >>> job_id = send.put(to="ada")
        >>> runs = app.run_pending()
        >>> send.result(job_id)
        'sent to ada'
        """
        if self.app.inline is not None:
            return cast(R, self.signature.read_result(self.app.inline.result(job_id)))
        client = self.app.client
        try:
            found = client.result(job_id, wait=wait).value
        except NoResult as error:
            found = _none_if_complete(error)
        except WrongState:
            raise _failure_of(job_id, client.job(job_id)) from None
        return cast(R, self.signature.read_result(found))

    async def aresult(self, job_id: str, *, wait: Span | None = 0) -> R:
        """Return the result of a job with the asyncio client; see Task.result."""
        if self.app.inline is not None:
            return self.result(job_id)
        client = await self.app.async_client()
        try:
            found = (await client.result(job_id, wait=wait)).value
        except NoResult as error:
            found = _none_if_complete(error)
        except WrongState:
            raise _failure_of(job_id, await client.job(job_id)) from None
        return cast(R, self.signature.read_result(found))


class AsyncTask(Task[P, R]):
    """A task whose function is async; calling the task returns a coroutine."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:  # type: ignore[override]
        """Call the function and return its coroutine, without putting a job."""
        return cast("Coroutine[Any, Any, R]", self.function(*args, **kwargs))


class Register(Protocol):
    """A decorator that turns a sync or async function into a task and keeps the function's types.

    A first parameter of type Context is not an argument of the task.
    """

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


def _where_to_run(name: str, function: Callable[..., Any], run: str | None) -> str:
    is_async = inspect.iscoroutinefunction(function)
    if run is None:
        return "loop" if is_async else "thread"
    if run not in RUNS:
        raise InvalidArgument(f"run of task {name!r} must be one of {', '.join(RUNS)}, not {run!r}")
    if is_async != (run == "loop") and run != "process":
        raise InvalidArgument(
            f"task {name!r} cannot run in a {run}: an async function runs in the loop or in a "
            "process, a sync function in a thread or in a process"
        )
    return run


def _failure_of(job_id: str, job: Job | None) -> JobError:
    if job is None or job.failure is None:
        return JobNotFound(job_id)
    return TaskFailed(job_id, job.failure.type, job.failure.message)


def _none_if_complete(error: NoResult) -> Any:
    """Return None if the job is complete: a task that returned None stored no result."""
    if error.state != "complete":
        raise error
    return None
