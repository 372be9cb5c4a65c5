"""A task: a function whose calls can be put into a queue."""

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

from headrace.app.options import CARRIED, COMPUTED, JobOptions, checked
from headrace.app.signature import Signature
from headrace.app.tracing import UNTRACED, Told
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
from headrace.options import Put

if TYPE_CHECKING:
    from headrace.app.app import App
    from headrace.app.context import Context
    from headrace.operations.core import Core
    from headrace.operations.schedule_values import Schedule
    from headrace.transport.drive import Operation

P = ParamSpec("P")
R = TypeVar("R")

# The options of a put that a schedule takes.
SCHEDULED = {
    "priority",
    "tags",
    "retries",
    "start_within",
    "result_ttl",
    "unique",
    "key",
    "throttles",
}
RUNS = ("loop", "thread", "process")


class Task(Generic[P, R]):
    """A function that a worker runs when a job names it. Called plainly, it runs here and now."""

    __name__: str

    def __init__(
        self, app: App, function: Callable[P, R], name: str, run: str | None, options: JobOptions
    ) -> None:
        update_wrapper(self, function)
        self.app = app
        self.name = name
        self.function = function
        self.signature = Signature(name, function)
        self.run = _where(name, function, run)
        self.settings = {**app.defaults, **checked(options)}
        self._plain = Call(self, self.settings, carried={})

    def __repr__(self) -> str:
        return f"<Task {self.name!r} of {self.app.name!r}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def options(self, **options: Unpack[JobOptions]) -> Call[P, R]:
        """The same task with other options: task.options(priority=-1).put(...)."""
        return Call(self, {**self.settings, **checked(options)}, carried=options)

    def at(self, when: datetime) -> Call[P, R]:
        """The same task, to be run from a time on."""
        return self.options(at=when)

    def after(self, delay: Span) -> Call[P, R]:
        """The same task, to be run after some seconds."""
        return self.options(delay=delay)

    def put(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Puts a call of the function into its queue; returns the id of the job."""
        return self._plain.put(*args, **kwargs)

    async def aput(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The same for code that awaits."""
        return await self._plain.aput(*args, **kwargs)

    def put_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """Puts many calls, each given as its arguments by name; returns the ids in order."""
        return self._plain.put_many(calls)

    async def aput_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """The same for code that awaits."""
        return await self._plain.aput_many(calls)

    def data(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """A call as the data of a job: for what the client does with jobs, groups and chains."""
        return self._plain.data(*args, **kwargs)

    def result(self, job_id: str, *, wait: Span | None = 0) -> R:
        """What the function returned for a job; waits for it as asked.

        Raises TaskFailed if the job is failed, NoResult if it is not complete in time.
        """
        if self.app.inline is not None:
            return cast(R, self.signature.read_result(self.app.inline.result(job_id)))
        client = self.app.client
        try:
            found = client.result(job_id, wait=wait).value
        except NoResult as error:
            found = _check_complete(error)
        except WrongState:
            raise _failure_of(job_id, client.job(job_id)) from None
        return cast(R, self.signature.read_result(found))

    async def aresult(self, job_id: str, *, wait: Span | None = 0) -> R:
        """The same for code that awaits."""
        if self.app.inline is not None:
            return self.result(job_id)
        client = await self.app.async_client()
        try:
            found = (await client.result(job_id, wait=wait)).value
        except NoResult as error:
            found = _check_complete(error)
        except WrongState:
            raise _failure_of(job_id, await client.job(job_id)) from None
        return cast(R, self.signature.read_result(found))

    def schedule(self, core: Core, cron: str, zone: str) -> Operation[Schedule]:
        """Lets the server put this task again and again; said again, it goes on as it was."""
        return (yield from self._plain.schedule(core, cron, zone))


class AsyncTask(Task[P, R]):
    """A task whose function is awaited."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:  # type: ignore[override]
        return cast("Coroutine[Any, Any, R]", self.function(*args, **kwargs))


class Register(Protocol):
    """What makes a task of a function, plain or async, with its types.

    A context that is the first parameter is no argument of the task.
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


class Call(Generic[P, R]):
    """A task with options for the calls that are put through it."""

    def __init__(
        self, task: Task[P, R], options: dict[str, Any], *, carried: Mapping[str, Any]
    ) -> None:
        self.task = task
        self._queue: str = options["queue"]
        self._kept: Queue | None = None
        self._options = {
            name: value
            for name, value in options.items()
            if name not in ("queue", *CARRIED, *COMPUTED)
        }
        self._computed = {name: options[name] for name in COMPUTED if options.get(name)}
        self._carried = {name: options[name] for name in CARRIED if name in carried}

    def put(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Puts a call of the function into its queue; returns the id of the job."""
        data, options = self._prepared(args, kwargs)
        with self._sending([data]) as told:
            if self.task.app.inline is not None:
                job_id = self.task.app.inline.put(self.task, data, options)
            else:
                job_id = self._blocking_queue().put(data, **options)
            told([job_id])
        return job_id

    async def aput(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The same for code that awaits."""
        data, options = self._prepared(args, kwargs)
        with self._sending([data]) as told:
            if self.task.app.inline is not None:
                job_id = await self.task.app.inline.aput(self.task, data, options)
            else:
                client = await self.task.app.async_client()
                job_id = await client.queue(self._queue).put(data, **options)
            told([job_id])
        return job_id

    def put_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """Puts many calls, each given as its arguments by name; returns the ids in order."""
        datas, options = self._prepared_many(calls)
        with self._sending(datas) as told:
            if self.task.app.inline is not None:
                ids = [self.task.app.inline.put(self.task, data, options) for data in datas]
            else:
                ids = self._blocking_queue().put_many(self._items(datas), **options)
            told(ids)
        return ids

    async def aput_many(self, calls: Iterable[Mapping[str, Any]]) -> list[str]:
        """The same for code that awaits."""
        datas, options = self._prepared_many(calls)
        with self._sending(datas) as told:
            if self.task.app.inline is not None:
                ids = [await self.task.app.inline.aput(self.task, data, options) for data in datas]
            else:
                queue = (await self.task.app.async_client()).queue(self._queue)
                ids = await queue.put_many(self._items(datas), **options)
            told(ids)
        return ids

    def _blocking_queue(self) -> Queue:
        """The queue, of which one is kept for the client that there is."""
        client = self.task.app.client
        if self._kept is None or self._kept.core is not client.core:
            self._kept = client.queue(self._queue)
        return self._kept

    def schedule(self, core: Core, cron: str, zone: str) -> Operation[Schedule]:
        """Lets the server put this call again and again."""
        data, options = self._prepared((), {})
        given = {name: value for name, value in options.items() if name in SCHEDULED}
        name = f"cron:{self.task.name}"
        queue = QueueRef(core, self._queue)
        return (yield from schedule_queue(queue, name, data, cron=cron, zone=zone, **given))

    def data(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """A call as the data of a job."""
        data = self._data(args, kwargs)
        if self.task.app.telemetry is not None:
            self.task.app.telemetry.carry([data])
        return data

    def _data(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        data = {"task": self.task.name, "args": self.task.signature.pack(args, kwargs)}
        if self._carried:
            data |= msgspec.to_builtins(self._carried)
        return data

    def _sending(self, datas: list[dict[str, Any]]) -> AbstractContextManager[Told]:
        tracing = self.task.app.telemetry
        return UNTRACED if tracing is None else tracing.sending(self.task.name, self._queue, datas)

    def _prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data = self._data(args, kwargs)
        if not self._computed:
            return data, self._options
        return data, self._options | self._computed_for(data["args"])

    def _prepared_many(
        self, calls: Iterable[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        every = listed("calls", calls, "arguments by name")
        for call in every:
            if not isinstance(call, Mapping):
                raise InvalidArgument(
                    f"a call is given as its arguments by name, not as {type(call).__name__}: "
                    f"{self.task.name}.put_many([{{...}}, ...])"
                )
        if "id" in self._options:
            raise InvalidArgument("many jobs do not share an id; put them one by one")
        return [self._data((), dict(call)) for call in every], self._options

    def _items(self, datas: list[dict[str, Any]]) -> list[Any]:
        if not self._computed:
            return datas
        return [Put(data, **self._computed_for(data["args"])) for data in datas]

    def _computed_for(self, arguments: dict[str, Any]) -> dict[str, Any]:
        found = dict(self._computed)
        for name, value in found.items():
            if callable(value):
                found[name] = value(**self.task.signature.unpack(arguments))
        if found.get("unique") is True:
            # Not the payload as it is: what is traced differs from put to put.
            call = [self.task.name, dict(sorted(arguments.items()))]
            plain = msgspec.json.encode(call, order="sorted")
            found["unique"] = digest_of(self.task.app.codec, call, plain)
        return found


def _where(name: str, function: Callable[..., Any], run: str | None) -> str:
    is_async = inspect.iscoroutinefunction(function)
    if run is None:
        return "loop" if is_async else "thread"
    if run not in RUNS:
        raise InvalidArgument(f"run of task {name!r} must be one of {', '.join(RUNS)}, not {run!r}")
    if is_async != (run == "loop") and run != "process":
        raise InvalidArgument(
            f"task {name!r} cannot run in a {run}: async functions run in the loop, plain ones in "
            "a thread, both in a process"
        )
    return run


def _failure_of(job_id: str, job: Job | None) -> JobError:
    if job is None or job.failure is None:
        return JobNotFound(job_id)
    return TaskFailed(job_id, job.failure.type, job.failure.message)


def _check_complete(error: NoResult) -> Any:
    """A function that returned None has no result, but its job is complete."""
    if error.state != "complete":
        raise error
    return None
