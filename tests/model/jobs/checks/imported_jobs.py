"""A check that jobs, items and schedules are imported unchanged and once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headrace import Client
from headrace.compat.importing.entries import ImportedJob
from headrace.compat.importing.import_steps import ImportedId, import_items, import_jobs
from headrace.operations.queues import QueueRef
from headrace.operations.schedules import adopt_schedule
from headrace.testing import START, Clock
from headrace.transport.drive import drive
from tests.model.harness import opened
from tests.support.dump import dump
from tests.support.jobs import found, pop_one

NOW = int(START.timestamp() * 1000)
DAY = 86_400_000
THEN = NOW - DAY


def at(moment: datetime | None) -> int:
    assert moment is not None
    return round(moment.timestamp() * 1000)


def job(job_id: str, state: str = "waiting", data: bytes = b"1", **about: Any) -> ImportedJob:
    origin = f"import:test:{job_id}"
    queue = about.pop("queue", "mail")
    import_id = about.pop("import_id", f"import_id of {job_id}")
    return ImportedJob(job_id, import_id, queue, state, data, origin, **about)


FAILED = job(
    "failed",
    "failed",
    attempt=2,
    put_at=THEN - 9000,
    failure=("boom", "why" * 1000, THEN, "w"),
    history=(("mail", THEN - 9000, THEN - 5000, THEN, "w", "failed", "boom", "why"),),
)
COMPLETE = job(
    "complete",
    "complete",
    b"x" * 2000,
    put_at=THEN - 9000,
    since=THEN - 5000,
    ended=THEN,
    worker="w",
    attempt=1,
    result=b"7",
)


def bring(hr: Client, *jobs: ImportedJob, name: str = "test") -> list[ImportedId]:
    return drive(hr.core.transport, import_jobs(hr.core, name, jobs))


def bring_items(hr: Client, feed: str, *items: tuple[str, bytes], name: str = "test") -> list[bool]:
    return drive(hr.core.transport, import_items(hr.core, name, feed, items))


def imports_are_unchanged(url: str, swaps: dict[str, str] | None = None) -> None:
    """Raise if an imported object differs from its original, or is imported twice."""
    client, clock = opened(url, swaps)
    with client as hr:
        jobs_come(hr, clock)
        ties_come(hr)
        items_come(hr)
        schedules_come(hr, clock)
        assert hr.audit().balanced, hr.audit().problems


def jobs_come(hr: Client, clock: Clock) -> None:
    every = [
        job("second", priority=1, tags=("vip",), unique="u", releases=3, attempt=4),
        job("first", retries=False, remaining=False),
        job("due", "scheduled", since=NOW + 5000),
        job("past", "scheduled", since=NOW - 5000),
        job("blocked", "blocked", depends_on=("second", "unknown")),
        job("already free", "blocked", depends_on=("unknown",)),
        FAILED,
        COMPLETE,
        job("old", "complete", put_at=1, since=2, ended=3, attempt=1),
        job("unknown times", "failed", failure=("boom", "", 0, "")),
    ]
    assert bring(hr, *every) == [ImportedId(each.id, is_new=True) for each in every]
    mail = hr.queue("mail")
    assert [each.id for each in mail.jobs("waiting").jobs] == ["first", "already free", "second"]
    second = found(hr, "second")
    assert (second.releases, second.attempt, second.tags) == (3, 4, ["vip"])
    assert (second.origin, second.dependents) == ("import:test:second", ["blocked"])
    assert found(hr, "first").retries is found(hr, "first").remaining is None
    assert at(found(hr, "due").due) == NOW + 5000
    failed = found(hr, "failed")
    assert failed.failure is not None
    assert (failed.failure.message, at(failed.failure.at)) == ("why" * 1000, THEN)
    assert [stage.outcome for stage in failed.history] == ["failed"]
    assert at(failed.put_at) == THEN - 9000
    complete = found(hr, "complete")
    assert [at(complete.history[-1].popped), at(complete.history[-1].ended)] == [THEN - 5000, THEN]
    assert complete.history[-1].worker == "w"
    assert hr.job("old") is None
    assert [each.id for each in hr.failures.jobs("boom").jobs] == ["unknown times", "failed"]
    events = [(each.kind, each.job_id, each.reason, each.run, each.worker) for each in hr.events()]
    assert ("completed", "complete", "imported", None, "") in events
    assert ("failed", "failed", "imported", None, "") in events
    assert mail.stats().run.count == mail.stats().failures == 0
    _come_once(hr, clock, every)


def _come_once(hr: Client, clock: Clock, every: list[ImportedJob]) -> None:
    before = dump(hr)
    assert bring(hr, *every) == [ImportedId(each.id, is_new=False) for each in every]
    assert dump(hr) == before
    pop_one(hr.queue("mail")).complete()
    clock.tick(29 * 86_400)
    hr.sweep()
    assert hr.job("first") is None
    assert bring(hr, every[1]) == [ImportedId("first", is_new=False)]
    assert bring(hr, every[1], name="other") == [ImportedId("first", is_new=True)]
    clock.tick(2 * 86_400)
    hr.sweep()
    hr.cancel("first")
    assert bring(hr, every[1]) == [ImportedId("first", is_new=True)]
    [other] = bring(hr, job("first", import_id="another"))
    assert other.is_new
    assert other.id.startswith("{first}~")
    assert bring(hr, job("first", import_id="another")) == [ImportedId(other.id, is_new=False)]


def ties_come(hr: Client) -> None:
    hr.queue("mine").put(1, id="parent")
    every = [
        job("parent", import_id="p", queue="ties", tracked=True),
        job("child", "blocked", queue="ties", depends_on=("parent", "gone"), parents=("p", "q")),
        job("free", "blocked", queue="ties", depends_on=("parent",), parents=("q",)),
    ]
    parent = bring(hr, *every)[0].id
    [late] = bring(hr, job("late", "blocked", depends_on=("parent",), parents=("p",)))
    assert found(hr, "child").depends_on == found(hr, late.id).depends_on == [parent] != ["parent"]
    assert found(hr, "free").state == "waiting"
    assert [each.id for each in hr.tracking.list().jobs] == [parent]


def schedules_come(hr: Client, clock: Clock) -> None:
    queue = QueueRef(hr.core, "mail")

    def bring_one(schedule_id: str, name: str = "test") -> bool:
        import_id, due = f"import_id of {schedule_id}", at(clock.now) + 5000
        operation = adopt_schedule(
            queue, name, import_id, schedule_id, b"1", every=60, due=due, backlog=0
        )
        return drive(hr.core.transport, operation)

    hr.queue("mail").schedule("mine", 1, every=5)
    mine = hr.schedules.get("mine")
    assert (bring_one("mine"), hr.schedules.get("mine")) == (False, mine)
    assert bring_one("turns")
    turns = hr.schedules.get("turns")
    assert turns is not None
    assert at(turns.next) == at(clock.now) + 5000
    assert not bring_one("turns")
    hr.schedules.delete("turns", "mine")
    assert not bring_one("turns")
    assert bring_one("turns", "other")
    hr.schedules.delete("turns")
    clock.tick(31 * 86_400)
    hr.sweep()
    assert bring_one("turns")
    hr.schedules.delete("turns")


def items_come(hr: Client) -> None:
    hr.feeds.create("news", max_length=2)
    line = hr.feeds.create("line", sorted=True)
    three = (("a", b"1"), ("9", b"2"), ("c", b"3"))
    assert bring_items(hr, "news", *three) == bring_items(hr, "line", *three) == [True] * 3
    assert list(hr.feed("news").all(order="oldest").items()) == [("9", 2), ("c", 3)]
    assert line.ids() == ["a", "9", "c"]
    assert line.publish("next") == "10"
    line.retract("a")
    before = dump(hr)
    assert bring_items(hr, "news", *three) == bring_items(hr, "line", *three) == [False] * 3
    assert bring_items(hr, "line", ("c", b"other"), name="other") == [False]
    assert dump(hr) == before
