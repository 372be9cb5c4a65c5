"""A repeated call has one effect and one answer, whatever another client does before the repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

import headrace
from headrace import Bulk, Client, HeadraceError, Lease
from headrace.engine.call import build, feed_answer
from headrace.operations.requests import ask_one
from headrace.testing import open_with_clock, settable_clock
from headrace.transport.drive import drive
from tests.support.clients import Location
from tests.support.proxy import Way
from tests.support.repeats import mark

Step = Callable[["World"], Any]


@dataclass
class World:
    """A namespace with jobs, feeds and a schedule, the client under test, and another client."""

    hr: Client
    other: Client
    leases: dict[str, Lease] = field(default_factory=dict)
    session: Any = None

    def prepare(self) -> None:
        """Make one job in every state that a call may change, some of them held by `hr`."""
        mail = self.other.queue("mail")
        for job_id in ("held", "kept", "failed", "done"):
            mail.put(job_id, id=job_id)
        held = self.hr.queue("mail").pop("w", count=4)
        self.leases = {lease.id: lease for lease in held}
        self.leases["failed"].fail("boom", "why")
        self.leases["done"].complete(7)
        mail.put("waiting", id="waiting", tags=["old"])
        mail.put("behind", id="behind")
        mail.put("blocked", id="blocked", depends_on=["behind"])
        mail.put("unique", id="unique", unique="u")
        self.other.feeds.create("news").publish_many({"x": 1, "y": 2})
        self.other.feeds.create("line", sorted=True).publish_many({"x": 1, "y": 2, "z": 3})
        mail.schedule("daily", "tick", every=86400)
        self.other.throttles.set("api", concurrency=1)
        self.session = self.hr.session("s", ttl=None)
        self.other.tracking.add("kept")


@dataclass(frozen=True)
class Case:
    """A call, the operation whose connection is cut, and the actions that concern the call."""

    name: str
    op: str
    call: Step
    actions: str = "held"

    def __str__(self) -> str:
        return self.name


def reserved_number(w: World) -> int:
    """Reserve an id for an item of the sorted feed."""
    call = build("feed_numbers", feed_answer("line"), feed="line", count=1)
    return int(drive(w.hr.core.transport, ask_one(w.hr.core, 0, call)))


def case(op: str, call: Step, actions: str = "held", name: str = "") -> Case:
    return Case(name or op, op, call, actions)


CASES = [
    case("put", lambda w: w.hr.queue("mail").put("new"), "new job"),
    case("put", lambda w: w.hr.queue("mail").put("n", tags=["t"], delay=0), "new job", "put tags"),
    case("put", lambda w: w.hr.queue("mail").put("n", id="waiting"), "waiting", "put move"),
    case(
        "put",
        lambda w: w.hr.queue("mail").put("n", id="waiting", on_exists="replace"),
        "waiting",
        "put replace",
    ),
    case(
        "put",
        lambda w: w.hr.queue("mail").put("n", id="given", on_exists="reject"),
        "given id",
        "put reject",
    ),
    case(
        "put",
        lambda w: w.hr.queue("mail").put("n", unique="u", on_exists="replace"),
        "unique",
        "put unique",
    ),
    case("pop", lambda w: w.hr.queue("mail").pop("w", count=2), "pop"),
    case("complete", lambda w: w.leases["held"].complete()),
    case("complete", lambda w: w.leases["held"].complete(5), name="complete with result"),
    case("complete", lambda w: w.leases["held"].complete(next="more"), name="complete next"),
    case(
        "complete",
        lambda w: w.hr.leases.complete([w.leases["held"], w.leases["kept"]]),
        name="complete many",
    ),
    case("complete", lambda w: w.hr.finish("held", 5), name="finish"),
    case("fail", lambda w: w.leases["held"].fail("io", "no route")),
    case("fail", lambda w: w.leases["held"].fail("io", retry_in=0), name="fail retry"),
    case("fail", lambda w: w.hr.fail("held", "io", "no route"), name="fail by id"),
    case("release", lambda w: w.leases["held"].release()),
    case("release", lambda w: w.leases["held"].release(position="back"), name="release back"),
    case("release", lambda w: w.hr.release("held"), name="release by id"),
    case("timeout", lambda w: w.hr.timeout("held")),
    case("log", lambda w: w.leases["held"].log("line")),
    case("cancel", lambda w: w.hr.cancel("held")),
    case("cancel", lambda w: w.hr.failures.cancel("boom"), "failed job", "cancel failed"),
    case("cancel_matching", lambda w: w.hr.queue("mail").cancel_matching("held")),
    case("retry", lambda w: w.hr.retry("failed"), "failed job"),
    case("retry", lambda w: w.hr.failures.retry("boom"), "failed job", "retry failed"),
    case("requeue", lambda w: w.hr.requeue("held")),
    case("requeue", lambda w: w.hr.requeue("held", "more", delay=5), name="requeue later"),
    case("prioritise", lambda w: w.hr.prioritise("waiting", -5), "waiting"),
    case("depend", lambda w: w.hr.dependencies.add("waiting", ["behind"]), "waiting"),
    case("undepend", lambda w: w.hr.dependencies.remove("blocked", "behind"), "blocked job"),
    case("tag", lambda w: w.hr.tags.add("waiting", "vip"), "waiting"),
    case("untag", lambda w: w.hr.tags.remove("waiting", "old"), "waiting"),
    case("track", lambda w: w.hr.tracking.add("waiting"), "waiting"),
    case("untrack", lambda w: w.hr.tracking.remove("kept")),
    case("take_result", lambda w: w.hr.result("done", take=True).value, "done job"),
    case("configure", lambda w: w.hr.queue("mail").configure("task", lease=7), "settings"),
    case("configure", lambda w: w.hr.queue("mail").pause(), "settings", "pause"),
    case("config_set", lambda w: w.hr.config.set("lease", 7), "settings"),
    case("delete_queue", lambda w: w.hr.queue("mail").delete(), "queue"),
    case(
        "schedule",
        lambda w: w.hr.queue("mail").schedule("daily", "n", every=60).every,
        "schedule",
    ),
    case(
        "schedule",
        lambda w: w.hr.schedules.update("daily", every=60).every,
        "schedule",
        "update schedule",
    ),
    case("unschedule", lambda w: w.hr.schedules.delete("daily"), "schedule"),
    case("throttle_set", lambda w: w.hr.throttles.set("api", concurrency=5), "throttle"),
    case("throttle_delete", lambda w: w.hr.throttles.delete("api"), "throttle"),
    case("feed_make", lambda w: bool(w.hr.feeds.create("fresh")), "feed"),
    case("feed_configure", lambda w: w.hr.feed("news").configure(max_length=1), "feed"),
    case("feed_publish", lambda w: w.hr.feed("news").publish("n", id="x"), "feed"),
    case(
        "feed_publish",
        lambda w: w.hr.feed("news").publish("n", id="x", touch=True),
        "feed",
        "feed touch",
    ),
    case("feed_publish", lambda w: w.hr.feed("news").publish("n", id="n"), "feed", "feed new"),
    case("feed_insert", lambda w: w.hr.feed("line").publish("n", id="y", first=True), "line"),
    case("feed_numbers", reserved_number, "line"),
    case("feed_move", lambda w: w.hr.feed("line").move("z", first=True), "line"),
    case("feed_retract", lambda w: w.hr.feed("line").retract("x", "gone"), "line"),
    case("feed_retract", lambda w: w.hr.feed("news").retract("x"), "feed", "retract plain"),
    case("feed_delete", lambda w: w.hr.feed("news").delete(), "feed"),
    case("session_start", lambda w: bool(w.hr.session("new", ttl=None)), "session"),
    case("session_serve", lambda w: w.session.serve("mail"), "session"),
    case("session_unserve", lambda w: w.session.unserve("mail"), "session"),
    case("session_end", lambda w: w.session.end(), "session"),
    case("session_end", lambda w: w.hr.workers.end("s"), "session", "end by name"),
]


def take_and_end(w: World, job_id: str, how: Callable[[Lease], Any]) -> list[Any]:
    """Pop all jobs as another worker, and end this job."""
    return [how(one) for one in w.other.queue("mail").pop("rival", count=9) if one.id == job_id]


def on_job(job_id: str) -> dict[str, Step]:
    """Return actions on a job: most of them undo or overtake the call."""
    return {
        "cancelled": lambda w: w.other.cancel(job_id),
        "put again": lambda w: (
            w.other.cancel(job_id),
            w.other.queue("mail").put("again", id=job_id),
        ),
        "moved": lambda w: w.other.queue("mail").put("moved", id=job_id),
        "requeued": lambda w: w.other.requeue(job_id),
        "failed": lambda w: w.other.fail(job_id, "other"),
        "failed and retried": lambda w: (w.other.fail(job_id, "other"), w.other.retry(job_id)),
        "released": lambda w: w.other.release(job_id),
        "prioritised": lambda w: w.other.prioritise(job_id, 3),
        "completed by another": lambda w: take_and_end(w, job_id, lambda one: one.complete()),
        "failed by another": lambda w: take_and_end(w, job_id, lambda one: one.fail("other")),
        "held by another": lambda w: take_and_end(w, job_id, lambda _: None),
        "tagged": lambda w: (w.other.tags.add(job_id, "vip"), w.other.tags.remove(job_id, "vip")),
        "queue deleted": lambda w: w.other.queue("mail").delete(),
    }


def newest(w: World) -> str:
    """Return the id of the newest job of the queue, or of no job."""
    found = w.other.queue("mail").jobs("waiting", count=100).jobs
    known = {"waiting", "behind", "unique"}
    return next((job.id for job in found if job.id not in known), "none")


ACTIONS: dict[str, dict[str, Step]] = {
    "held": on_job("held"),
    "waiting": on_job("waiting"),
    "new job": {
        "cancelled": lambda w: w.other.cancel(newest(w)),
        "completed": lambda w: take_and_end(w, newest(w), lambda one: one.complete()),
        "completed and deleted": lambda w: (
            w.other.queue("mail").configure(keep_count=0),
            take_and_end(w, newest(w), lambda one: one.complete()),
        ),
        "popped by fifo": lambda w: (
            w.other.queue("mail").configure("fifo"),
            w.other.queue("mail").pop("rival", count=9),
        ),
        "queue deleted": lambda w: w.other.queue("mail").delete(),
        "moved": lambda w: w.other.queue("more").put("m", id=newest(w)),
    },
    "given id": on_job("given"),
    "unique": on_job("unique"),
    "failed job": on_job("failed"),
    "blocked job": on_job("blocked"),
    "done job": on_job("done") | {"taken": lambda w: w.other.result("done", take=True)},
    "pop": {
        "put": lambda w: w.other.queue("mail").put("urgent", id="urgent", priority=-9),
        "others held": lambda w: w.other.queue("mail").pop("rival", count=1),
        "prioritised": lambda w: w.other.prioritise("unique", -3),
    },
    "queue": {
        "put": lambda w: w.other.queue("mail").put("new", id="new"),
        "deleted": lambda w: w.other.queue("mail").delete(),
        "deleted and put": lambda w: (
            w.other.queue("mail").delete(),
            w.other.queue("mail").put("new", id="new"),
        ),
    },
    "settings": {
        "configured": lambda w: w.other.queue("mail").configure("ring", lease=9),
        "resumed": lambda w: w.other.queue("mail").resume(),
        "set": lambda w: w.other.config.set("lease", 9),
        "unset": lambda w: w.other.config.unset("lease"),
    },
    "schedule": {
        "changed": lambda w: w.other.schedules.update("daily", every=30),
        "deleted": lambda w: w.other.schedules.delete("daily"),
        "made again": lambda w: (
            w.other.schedules.delete("daily"),
            w.other.queue("mail").schedule("daily", "other", every=30),
        ),
    },
    "throttle": {
        "set": lambda w: w.other.throttles.set("api", concurrency=9),
        "deleted": lambda w: w.other.throttles.delete("api"),
    },
    "feed": {
        "edited": lambda w: w.other.feed("news").publish("other", id="x"),
        "published": lambda w: w.other.feed("news").publish("other", id="n"),
        "touched": lambda w: w.other.feed("news").publish("other", id="y", touch=True),
        "retracted": lambda w: w.other.feed("news").retract("x", "n"),
        "retracted and published": lambda w: (
            w.other.feed("news").retract("x"),
            w.other.feed("news").publish("other", id="x"),
        ),
        "configured": lambda w: w.other.feed("news").configure(about="other"),
        "deleted": lambda w: w.other.feed("news").delete(),
        "made again": lambda w: (
            w.other.feed("news").delete(),
            w.other.feeds.create("news").publish("other", id="x"),
        ),
        "fresh deleted": lambda w: w.other.feed("fresh").delete(),
    },
    "line": {
        "moved": lambda w: w.other.feed("line").move("x", last=True),
        "edited": lambda w: w.other.feed("line").publish("other", id="y"),
        "retracted": lambda w: w.other.feed("line").retract("x", "y", "z"),
        "retracted and published": lambda w: (
            w.other.feed("line").retract("x"),
            w.other.feed("line").publish("other", id="x"),
        ),
        "inserted": lambda w: w.other.feed("line").publish("other", id="o", before="y"),
        "deleted": lambda w: w.other.feed("line").delete(),
    },
    "session": {
        "ended": lambda w: w.other.workers.end("s"),
        "started again": lambda w: w.other.session("s", ttl=None),
        "new ended": lambda w: w.other.workers.end("new"),
    },
}

PAIRS = [
    pytest.param(one, action, id=f"{one}-{action}")
    for one in CASES
    for action in ACTIONS[one.actions]
]


@contextmanager
def world(url: str, way_url: str | None = None) -> Iterator[World]:
    """Open a prepared namespace; the client under test connects through `way_url`."""
    namespace = f"test-{uuid4().hex[:12]}"
    other, _ = open_with_clock(url, namespace=namespace)
    with (
        other,
        headrace.connect(way_url or url, namespace=namespace, library=settable_clock()) as hr,
    ):
        found = World(hr, other)
        found.prepare()
        yield found


def outcome(step: Step, w: World) -> Any:
    """Return what a call returns or raises."""
    try:
        answer = step(w)
    except HeadraceError as error:
        return type(error).__name__, str(error)
    if isinstance(answer, list) and answer and isinstance(answer[0], Lease):
        return [(lease.id, lease.attempt) for lease in answer]
    return answer


def history(w: World) -> list[tuple[Any, ...]]:
    """Return all events, without their times; generated ids are numbered."""
    numbers: dict[str, str] = {}
    found = []
    for event in w.other.events(count=1000):
        generated = len(event.job_id) == 16
        job_id = numbers.setdefault(event.job_id, f"#{len(numbers)}") if generated else event.job_id
        found.append((event.kind, job_id, event.queue, event.worker, event.attempt, event.priority))
    assert w.other.audit().problems == []
    return found


def settings(w: World) -> tuple[Any, ...]:
    """Return what no event tells."""
    throttles = {name: w.other.throttles.get(name) for name in w.other.throttles.list()}
    schedules = {one.id: (one.every, one.data) for one in w.other.schedules.list()}
    return (
        w.other.queue("mail").settings(),
        w.other.config.get("lease"),
        throttles,
        schedules,
        {worker.name: worker.queues for worker in w.other.workers.list()},
        outcome(lambda w: w.other.result("done").value, w),
        {name: w.other.feed(name).all() for name in w.other.feeds.list()},
        {
            job.id: (job.state, job.queue, job.tags, job.remaining, job.log and len(job.log))
            for job in w.other.jobs(["held", "kept", "waiting", "behind", "blocked", "given"])
        },
    )


def without_generated(answer: Any) -> Any:
    return "#" if isinstance(answer, str) and len(answer) == 16 else answer


def reference(url: str, one: Case, action: Step, order: str) -> tuple[Any, ...]:
    """Return answer, history and settings of call (C) and action (A) in this order."""
    with world(url) as w:
        answer = None
        for step in order:
            if step == "C":
                answer = outcome(one.call, w)
            else:
                with suppress(HeadraceError):
                    action(w)
        return without_generated(answer), history(w), settings(w)


def is_refused(answer: Any) -> bool:
    """Return whether a call changed nothing."""
    if isinstance(answer, tuple):
        return True
    if isinstance(answer, Bulk):
        return answer.done == 0
    return isinstance(answer, list) and all(isinstance(each, HeadraceError) for each in answer)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("before the request", marks=pytest.mark.long),
        "before the answer",
        pytest.param("inside the answer", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(("one", "action"), PAIRS)
def test_a_call_has_one_effect_although_another_client_acts(
    location: Location, way: Way, one: Case, action: str, moment: str
) -> None:
    act = ACTIONS[one.actions][action]
    with world(location.url, way.url) as w:

        def meanwhile() -> None:
            with suppress(HeadraceError):
                act(w)

        way.lose(mark(w.other, one.op), moment, meanwhile=meanwhile)
        answer = without_generated(outcome(one.call, w))
        assert way.cuts == 1
        found = answer, history(w), settings(w)

    if moment == "before the request":
        assert found == reference(location.url, one, act, "AC")
        return
    expected = reference(location.url, one, act, "CA")
    if is_refused(expected[0]):
        assert found in (expected, reference(location.url, one, act, "AC"))
    else:
        assert found == expected
