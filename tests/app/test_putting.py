"""Calls of tasks become jobs with checked arguments and the options of the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import msgspec
import pytest

from headrace import (
    App,
    Backoff,
    Context,
    InvalidArgument,
    Job,
    JobExists,
    JobNotFound,
    NoResult,
    Put,
    TaskFailed,
)
from headrace.testing import START


def job_of(app: App, job_id: str) -> Job:
    job = app.client.job(job_id)
    assert job is not None
    return job


def test_a_call_is_put_into_the_queue_of_its_task(app: App) -> None:
    @app.task(queue="mail", retries=5, priority=-1, tags=["vip"])
    def send(to: str, subject: str = "hi") -> str:
        return f"{to} {subject}"

    job = job_of(app, send.put("ada", subject="hello"))

    assert (job.queue, job.retries, job.priority, job.tags) == ("mail", 5, -1, ["vip"])
    assert job.data == {"task": "send", "args": {"to": "ada", "subject": "hello"}}


def test_calling_a_task_calls_its_function(app: App) -> None:
    @app.task()
    def double(n: int) -> int:
        """Return twice the value."""
        return 2 * n

    assert double(21) == 42
    assert (double.__name__, double.__doc__) == ("double", "Return twice the value.")
    assert app.client.queues() == {}


def test_omitted_arguments_are_not_stored(app: App) -> None:
    @app.task()
    def send(to: str, at: float = 1.5) -> None: ...

    assert job_of(app, send.put("ada")).data["args"] == {"to": "ada"}


class Colour(Enum):
    RED = "red"


@dataclass
class Address:
    street: str
    number: int


class Item(msgspec.Struct):
    name: str
    price: Decimal


GOOD: list[tuple[Any, Any]] = [
    (int, 5),
    (str, "x"),
    (bool, True),
    (float, 2),
    (bytes, b"\x00\xff"),
    (datetime, datetime(2026, 1, 1, tzinfo=UTC)),
    (timedelta, timedelta(seconds=5)),
    (UUID, UUID(int=7)),
    (Decimal, Decimal("1.10")),
    (Colour, Colour.RED),
    (Address, Address("Elm", 5)),
    (Item, Item("pen", Decimal("0.99"))),
    (list[Address], [Address("Elm", 5)]),
    (dict[str, int], {"a": 1}),
    (int | None, None),
    (tuple[int, str], (1, "x")),
    (set[int], {1, 2}),
    (Literal["a", "b"], "a"),
    (Any, {"anything": [1, None]}),
]


@pytest.mark.parametrize(("kind", "value"), GOOD)
@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_arguments_of_supported_types_survive_the_round_trip(
    app: App, valkey_url: str, kind: Any, value: Any, codec: str
) -> None:
    packed = App(f"{app.name}-{codec}", url=valkey_url, codec=codec)

    def take(value): ...  # type: ignore[no-untyped-def]

    take.__annotations__["value"] = kind
    task = packed.task()(take)

    data = job_of(packed, task.put(value)).data

    assert task.signature.unpack(data["args"]) == {"value": value}
    packed.close()


WRONG: list[tuple[Any, Any]] = [
    (int, "5"),
    (int, 1.5),
    (int, None),
    (str, 5),
    (str, b"x"),
    (bool, 1),
    (datetime, "soon"),
    (UUID, "x"),
    (Colour, "blue"),
    (Address, {"street": "Elm"}),
    (list[int], ["1"]),
    (dict[str, int], {"a": "1"}),
    (Literal["a", "b"], "c"),
    (str, object()),
    (Any, object()),
]


@pytest.mark.parametrize(("kind", "value"), WRONG)
def test_wrong_argument_is_refused_by_put(app: App, kind: Any, value: Any) -> None:
    def take(value): ...  # type: ignore[no-untyped-def]

    take.__annotations__["value"] = kind
    task = app.task()(take)

    with pytest.raises(InvalidArgument, match=r"^take\(value"):
        task.put(value)
    with pytest.raises(InvalidArgument, match=r"^take\(value"):
        task.put_many([{"value": value}])

    assert app.client.queues() == {}


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "missing required field `to`"),
        (("a", "b", "c"), {}, "the task takes 2 arguments, not 3"),
        (("a",), {"to": "b"}, "'to' is passed twice"),
        ((), {"to": "a", "cc": "b"}, "unknown field `cc`"),
    ],
)
def test_calls_that_do_not_match_the_signature_are_refused(
    app: App, args: tuple[Any, ...], kwargs: dict[str, Any], says: str
) -> None:
    @app.task()
    def send(to: str, subject: str = "") -> None: ...

    with pytest.raises(InvalidArgument) as refused:
        send.put(*args, **kwargs)

    assert says in str(refused.value)


class Unknown:
    pass


def test_parameter_type_that_cannot_be_serialized_is_refused_by_the_decorator(app: App) -> None:
    def take(value): ...  # type: ignore[no-untyped-def]

    take.__annotations__["value"] = Unknown
    with pytest.raises(InvalidArgument, match="argument 'value' of task 'take'"):
        app.task()(take)

    assert app.tasks == {}


def test_tasks_with_variable_arguments_are_refused(app: App) -> None:
    with pytest.raises(InvalidArgument, match=r"\*args"):

        @app.task()
        def many(*args: int) -> None: ...

    with pytest.raises(InvalidArgument, match=r"\*\*kwargs"):

        @app.task()
        def named(**kwargs: int) -> None: ...


def test_the_context_is_not_an_argument(app: App) -> None:
    @app.task()
    def send(context: Context, to: str) -> None: ...

    assert send.signature.context_name == "context"
    assert job_of(app, send.options().put(to="ada")).data["args"] == {"to": "ada"}


def test_task_data_can_be_put_in_groups_and_chains(app: App) -> None:
    @app.task(queue="mail")
    def send(to: str) -> None: ...

    first, second = app.client.chain(
        [("mail", Put(send.data("ada"))), ("mail", Put(send.data(to="grace")))]
    )

    assert job_of(app, second).depends_on == [first]
    assert job_of(app, first).data == {"task": "send", "args": {"to": "ada"}}
    with pytest.raises(InvalidArgument):
        send.data(5)  # type: ignore[arg-type]


def test_two_tasks_of_one_name_are_refused(app: App) -> None:
    @app.task()
    def send() -> None: ...

    with pytest.raises(InvalidArgument, match="already has a task 'send'"):

        @app.task(name="send")
        def other() -> None: ...


def test_options_of_a_call_override_those_of_the_task_and_the_app(valkey_url: str) -> None:
    app = App("test-options", url=valkey_url, retries=1, queue="slow", tags=["app"])

    @app.task(retries=2)
    def send(to: str) -> None: ...

    app.client.queue("slow").put("make it")
    plain = job_of(app, send.put("ada"))
    other = job_of(app, send.options(retries=3, queue="fast", tags=["call"]).put("ada"))
    app.close()

    assert (plain.queue, plain.retries, plain.tags) == ("slow", 2, ["app"])
    assert (other.queue, other.retries, other.tags) == ("fast", 3, ["call"])


def test_unknown_or_invalid_options_are_refused(app: App) -> None:
    with pytest.raises(InvalidArgument, match=r"no option 'que'; the options are: .*queue"):
        app.task(que="mail")(lambda: None)  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="timeout must be more than 0"):
        app.task(timeout=0)(lambda: None)
    with pytest.raises(InvalidArgument, match=r"backoff must be a headrace\.Backoff"):
        app.task(backoff=5)(lambda: None)  # type: ignore[arg-type]


def test_options_can_be_functions_of_the_arguments(app: App) -> None:
    @app.task(
        key=lambda customer, **_: customer,
        tags=lambda page, **_: [f"page-{page}"],
        unique=lambda customer, page: f"{customer}/{page}",
    )
    def render(customer: str, page: int) -> None: ...

    job = job_of(app, render.put("acme", page=3))
    [other_id] = render.put_many([{"customer": "bolt", "page": 1}])
    other = job_of(app, other_id)

    assert (job.key, job.tags, job.unique) == ("acme", ["page-3"], "acme/3")
    assert (other.key, other.tags, other.unique) == ("bolt", ["page-1"], "bolt/1")


def test_a_unique_task_is_put_once_for_the_same_arguments(app: App) -> None:
    @app.task(unique=True)
    def index(customer: str, *, deep: bool = False) -> None: ...

    @app.task(unique=True)
    def other(customer: str) -> None: ...

    first = index.put("acme")
    with pytest.raises(JobExists) as refused:
        index.put(customer="acme")
    index.put("bolt")
    index.put("acme", deep=True)
    other.put("acme")

    assert refused.value.job_id == first


def test_task_can_be_put_with_a_time_or_a_delay(app: App) -> None:
    @app.task()
    def send(to: str) -> None: ...

    when = START + timedelta(hours=1)

    assert job_of(app, send.at(when).put("ada")).due == when
    assert job_of(app, send.after(90).put("ada")).due == START + timedelta(seconds=90)


def test_timeout_and_backoff_of_a_call_travel_with_it(app: App) -> None:
    @app.task(timeout=5)
    def send(to: str) -> None: ...

    plain = job_of(app, send.put("ada")).data
    other = job_of(app, send.options(timeout=3, backoff=Backoff(first=3)).put("ada")).data

    assert plain.keys() == {"task", "args"}
    assert other["timeout"] == 3
    assert other["backoff"] == {"first": 3, "factor": 2.0, "most": 3600.0, "jitter": 0.5}


def test_timeout_of_a_call_cannot_exceed_the_timeout_of_the_task(app: App) -> None:
    @app.task(timeout=5)
    def send() -> None: ...

    @app.task()
    def unlimited() -> None: ...

    with pytest.raises(InvalidArgument, match=r"at most 5 s, the timeout of task 'send', not 5\.5"):
        send.options(timeout=5.5)
    assert job_of(app, send.options(timeout=5).put()).data["timeout"] == 5
    assert job_of(app, unlimited.options(timeout=9).put()).data["timeout"] == 9


def test_many_calls_are_put_in_order(app: App) -> None:
    @app.task(queue="mail")
    def send(to: str) -> None: ...

    ids = send.put_many({"to": name} for name in ("ada", "grace", "alan"))

    assert [job.id for job in app.client.queue("mail").peek(5)] == ids
    assert [job.data["args"]["to"] for job in app.client.jobs(ids)] == ["ada", "grace", "alan"]
    with pytest.raises(InvalidArgument, match="a mapping of arguments"):
        send.put_many(["ada"])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument, match="cannot share an id"):
        send.options(id="x").put_many([{"to": "ada"}])


async def test_async_put_put_many_and_result(app: App) -> None:
    @app.task(queue="mail")
    async def send(to: str) -> str:
        return to

    one = await send.aput("ada")
    two = await send.options(priority=-1).aput("grace")
    many = await send.aput_many([{"to": "alan"}])
    client = await app.async_client()
    [lease] = await client.queue("mail").pop("w")
    await lease.complete("done")

    assert lease.id == two
    assert await send.aresult(two) == "done"
    assert {job.id for job in await client.queue("mail").peek(9)} == {one, *many}
    await app.aclose()


def test_result_has_the_annotated_return_type(app: App) -> None:
    @app.task()
    def locate(name: str) -> Address: ...  # type: ignore[empty-body]

    first, second, third = locate.put_many([{"name": "a"}, {"name": "b"}, {"name": "c"}])
    leases = app.client.queue("default").pop("w", count=3)
    leases[0].complete({"street": "Elm", "number": 5})
    leases[1].fail("closed", "opens at nine")

    assert locate.result(first) == Address("Elm", 5)
    with pytest.raises(TaskFailed, match="failed: closed: opens at nine"):
        locate.result(second)
    with pytest.raises(NoResult):
        locate.result(third)
    with pytest.raises(JobNotFound):
        locate.result("unknown")


def test_result_of_a_function_that_returned_nothing_is_none(app: App) -> None:
    @app.task()
    def send() -> None: ...

    job_id = send.put()
    app.client.queue("default").pop("w")[0].complete()

    assert send.result(job_id) is None


def test_async_functions_run_in_the_loop_and_sync_functions_in_threads(app: App) -> None:
    async def waits() -> None: ...

    def works() -> None: ...

    assert app.task(name="a")(waits).run == "loop"
    assert app.task(name="b")(works).run == "thread"
    assert app.task(name="c", run="process")(waits).run == "process"
    for function, run in ((waits, "thread"), (works, "loop"), (works, "fiber")):
        with pytest.raises(InvalidArgument, match="run"):
            app.task(name="d", run=run)(function)


def test_cron_task_with_required_parameters_is_refused(app: App) -> None:
    @app.cron("*/5 * * * *", zone="Europe/Berlin", queue="upkeep")
    def clean() -> None: ...

    assert app.crons == {"clean": {"cron": "*/5 * * * *", "zone": "Europe/Berlin"}}
    with pytest.raises(InvalidArgument, match="missing required field `days`"):

        @app.cron("0 3 * * *")
        def purge(days: int) -> None: ...


def test_wrong_decorators_are_refused_where_they_are_written(app: App) -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: app.task(len), "with parentheses"),
        (lambda: app.cron(len), "write @app.cron"),  # type: ignore[arg-type]
        (lambda: app.cron("61 * * * *"), "61"),
        (lambda: app.cron("* * * * *", zone="Mars/Base"), "Mars/Base"),
        (lambda: app.task(timeout=400 * 86_400), "366 days"),
        (lambda: app.task(backoff=Backoff(first=9e15)), "first of a Backoff"),
    ]
    for wrong, says in cases:
        with pytest.raises(InvalidArgument, match=says):
            wrong()(lambda: None)
    assert app.tasks == {}


def test_time_after_the_year_3000_is_refused(app: App) -> None:
    @app.task()
    def send() -> None: ...

    with pytest.raises(InvalidArgument, match="in the year 3000 or earlier"):
        send.at(datetime.max.replace(tzinfo=UTC)).put()


def test_the_url_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, valkey_url: str
) -> None:
    monkeypatch.setenv("HEADRACE_URL", valkey_url)
    assert App("test-environment").url == valkey_url
    assert App("test-environment", url="redis://other:1").url == "redis://other:1"
