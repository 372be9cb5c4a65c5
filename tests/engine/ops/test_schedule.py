"""schedule, reschedule: the stored schedule, the effect of a second call, and notifications."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue, Schedule, ScheduleNotFound
from headrace.engine.call import build
from headrace.operations.requests import ask_one
from headrace.testing import START, Clock, open_with_clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import ids, serve


def known(hr: Client, schedule_id: str) -> Schedule:
    found = hr.schedules.get(schedule_id)
    assert found is not None
    return found


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@proves("QL-12")
def test_schedule_returns_all_its_options(hr: Client, queue: Queue) -> None:
    made = queue.schedule(
        "report",
        {"to": "ada"},
        every=timedelta(hours=1),
        delay=30,
        backlog=3,
        priority=-1.5,
        tags=["vip"],
        retries=None,
        start_within=60,
        result_ttl=5,
    )

    assert made == hr.schedules.get("report")
    assert (made.id, made.queue, made.data) == ("report", "mail", {"to": "ada"})
    assert (made.every, made.cron, made.zone, made.backlog) == (3600.0, None, None, 3)
    assert (made.next, made.last, made.made, made.counter) == (after(30), None, 0, 0)
    assert made.options == {
        "priority": -1.5,
        "tags": ["vip"],
        "retries": None,
        "start_within": 60.0,
        "result_ttl": 5.0,
    }


def test_a_schedule_by_cron_has_the_next_time_of_its_zone(hr: Client, queue: Queue) -> None:
    made = queue.schedule("night", "x", cron=" 30  2 * * * ", zone="Europe/Berlin", backlog=None)

    assert (made.every, made.cron, made.zone) == (None, "30 2 * * *", "Europe/Berlin")
    assert (made.backlog, made.options) == (None, {})
    assert made.next == datetime(2026, 1, 1, 1, 30, tzinfo=UTC)
    assert queue.schedule("noon", "x", cron="@daily").next == datetime(2026, 1, 2, tzinfo=UTC)
    assert hr.schedules.get("none") is None


def test_a_cron_schedule_begins_after_its_delay(queue: Queue) -> None:
    assert queue.schedule("a", "x", cron="0 * * * *", delay=3600).next == after(7200)
    assert queue.schedule("b", "x", cron="0 * * * *", delay=3599.999).next == after(3600)


@proves("QL-12")
def test_a_job_has_the_data_and_the_options_of_its_schedule(hr: Client, queue: Queue) -> None:
    queue.schedule(
        "report", [1], every=60, priority=4, tags=["vip"], retries=0, start_within=9, result_ttl=5
    )

    [job] = queue.peek(9)

    assert (job.id, job.data, job.schedule) == ("report-1", [1], "report")
    assert (job.priority, job.tags, job.retries) == (4, ["vip"], 0)
    [event] = hr.events()
    assert (event.kind, event.job_id, event.schedule) == ("put", "report-1", "report")
    assert event.tags == '["vip"]'
    hr.fail("report-1", "boom")
    assert hr.audit().problems == []


@proves("QL-12")
def test_second_schedule_call_changes_options_and_keeps_the_counter(
    queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "old", every=60, tags=["a"])
    assert serve(queue) == ["tick-1"]
    clock.tick(59)

    again = queue.schedule("tick", "new", every=60, priority=2)

    assert (again.next, again.made, again.options) == (after(60), 1, {"priority": 2})
    assert serve(queue) == []
    clock.tick(1)
    [job] = queue.peek(1)
    assert (job.id, job.data, job.tags, job.priority) == ("tick-2", "new", [], 2)


def test_second_schedule_call_keeps_missed_runs(queue: Queue, clock: Clock) -> None:
    for rule in ({"every": 3600}, {"cron": "0 * * * *"}):
        queue.schedule("tick", "x", **rule, delay=0)
        serve(queue)
        clock.tick(7300)

        due = queue.schedule("tick", "x", **rule).next

        assert due < clock.now
        assert len(serve(queue)) == 1
        queue.delete()


@pytest.mark.parametrize(
    ("other", "when"),
    [
        ({"every": 30}, 100.0),
        ({"every": 60, "delay": 5}, 105.0),
        ({"every": 60, "delay": 0}, 100.0),
        ({"cron": "* * * * *"}, 120.0),
        ({"cron": "* * * * *", "delay": 60}, 180.0),
    ],
)
def test_new_rule_or_delay_restarts_the_schedule(
    hr: Client, queue: Queue, clock: Clock, other: dict[str, Any], when: float
) -> None:
    queue.schedule("tick", "x", every=60)
    serve(queue)
    clock.tick(100)

    changed = queue.schedule("tick", "x", **other)

    assert (changed.next, changed.made) == (after(when), 1)
    assert hr.schedules.list() == [changed]


@proves("QL-12")
def test_a_schedule_moves_to_the_queue_that_it_is_made_in(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "x", every=60)
    serve(queue)

    moved = hr.queue("post").schedule("tick", "x", every=60)

    assert (moved.queue, moved.next) == ("post", after(60))
    assert (ids(hr.schedules.list("mail")), ids(hr.schedules.list("post"))) == ([], ["tick"])
    clock.tick(60)
    assert (serve(queue), serve(hr.queue("post"))) == ([], ["tick-2"])


def test_waiting_worker_is_notified_of_a_schedule(hr: Client, queue: Queue, url: str) -> None:
    with listening(hr, url, "queue:mail") as workers:
        queue.schedule("tick", "x", every=60, delay=60)
        hr.schedules.update("tick", every=30)

        assert workers.messages() == ["scheduled", "scheduled"]


def test_schedule_creates_its_queue(hr: Client) -> None:
    hr.queue("new").schedule("tick", "x", every=60)

    assert list(hr.queues()) == ["new"]
    hr.sweep()
    assert hr.queues()["new"].waiting == 1


# reschedule


@proves("QL-12")
def test_update_keeps_the_other_fields_of_a_schedule(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    first = queue.schedule(
        "tick", "x", every=60, backlog=2, priority=1, tags=["a"], retries=3, start_within=50
    )
    serve(queue)

    changed = hr.schedules.update("tick", data="y", priority=None, tags=["b"], retries=None)

    assert (changed.data, changed.backlog, changed.every) == ("y", 2, 60.0)
    assert changed.options == {"tags": ["b"], "retries": None, "start_within": 50.0}
    assert (changed.next, changed.made, first.made) == (after(60), 1, 0)
    assert hr.schedules.update("tick", backlog=None).backlog is None
    assert hr.schedules.update("tick", unique=True).options["unique"] == "tick"
    assert "unique" not in hr.schedules.update("tick", unique=False).options
    assert hr.schedules.update("tick") == hr.schedules.get("tick")
    clock.tick(60)
    [job] = queue.pop("w")
    assert (job.data, job.job.tags, job.job.retries) == ("y", ["b"], None)


@pytest.mark.parametrize(
    ("turns", "change", "when"),
    [
        (1, {"every": 90}, 90.0),
        (1, {"every": 5}, 5.0),
        (0, {"every": 90}, 0.0),
        (1, {"cron": "*/2 * * * *"}, 120.0),
        (1, {"priority": 1}, 60.0),
    ],
)
def test_new_interval_counts_from_the_last_run(
    hr: Client, queue: Queue, clock: Clock, turns: int, change: dict[str, Any], when: float
) -> None:
    queue.schedule("tick", "x", every=60)
    if turns:
        serve(queue)
    clock.tick(10)

    assert hr.schedules.update("tick", **change).next == after(when)


def test_update_can_change_only_the_time_zone(hr: Client, queue: Queue) -> None:
    queue.schedule("night", "x", cron="0 12 * * *")

    changed = hr.schedules.update("night", zone="America/New_York")

    assert (changed.cron, changed.zone) == ("0 12 * * *", "America/New_York")
    assert changed.next == after(17 * 3600)
    changed = hr.schedules.update("night", cron="0 13 * * *")
    assert (changed.zone, changed.next) == ("America/New_York", after(18 * 3600))
    changed = hr.schedules.update("night", every=60)
    assert (changed.every, changed.cron, changed.zone) == (60.0, None, None)
    with pytest.raises(InvalidArgument, match="zone= needs cron="):
        hr.schedules.update("night", zone="Europe/Berlin")


def test_unknown_schedule_cannot_be_changed(hr: Client, queue: Queue) -> None:
    queue.put("x")
    before = dump(hr)

    with pytest.raises(ScheduleNotFound, match=r"queue\.schedule\('tick', data") as error:
        hr.schedules.update("tick", every=5)

    assert error.value.schedule_id == "tick"
    assert dump(hr) == before


def test_conflicting_change_is_refused_and_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.schedule("tick", "x", every=60)
    before = dump(hr)

    for schedule_id in ("tick", "none"):
        call = build(
            "schedule",
            lambda reply: reply,
            [("every", "5")],
            id=schedule_id,
            queue="mail",
            version="n",
            seen="=other",
            delay=-1,
            import_name="",
            import_id="",
        )
        assert drive(hr.core.transport, ask_one(hr.core, 0, call)) == b"NOT_AS_SEEN"

    assert dump(hr) == before


def test_two_changes_at_once_are_both_made(
    hr: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call whose schedule changes between its read and its write reads the schedule again."""
    queue.schedule("tick", "x", every=60)
    from headrace.operations import schedules  # noqa: PLC0415 - the test replaces its function

    write = schedules._write
    others = [lambda: hr.schedules.update("tick", priority=7)]

    def slowly(*args: Any) -> Any:
        if others:
            others.pop()()
        return (yield from write(*args))

    monkeypatch.setattr(schedules, "_write", slowly)

    assert hr.schedules.update("tick", tags=["a"]).options == {"priority": 7, "tags": ["a"]}


# listing


@proves("QL-12")
def test_schedules_are_listed_by_next_run_in_pages(hr: Client, queue: Queue) -> None:
    other = hr.queue("other")
    for number in (3, 1, 4, 2, 5):
        where = queue if number % 2 else other
        where.schedule(f"s{number}", "x", every=60, delay=number)

    assert ids(hr.schedules.list()) == ["s1", "s2", "s3", "s4", "s5"]
    assert ids(hr.schedules.list(offset=1, count=2)) == ["s2", "s3"]
    assert ids(hr.schedules.list("mail")) == ["s1", "s3", "s5"]
    assert ids(hr.schedules.list("other", offset=1)) == ["s4"]
    assert hr.schedules.list("none") == []


@proves("QL-12")
def test_deleting_a_queue_deletes_its_schedules(hr: Client, queue: Queue, clock: Clock) -> None:
    for number in range(30):
        queue.schedule(f"s{number}", "x", every=60, delay=number % 2)
    hr.queue("other").schedule("kept", "x", every=60, delay=9)
    serve(queue)

    queue.delete()

    assert ids(hr.schedules.list()) == ["kept"]
    clock.tick(1000)
    hr.sweep()
    assert list(hr.queues()) == ["other"]
    left = {key.split("}:")[1] for key in dump(hr)}
    assert {name for name in left if "mail" in name} == set()
    assert {name for name in left if name.startswith("schedule")} == {
        "schedule:kept",
        "schedules:other",
        "schedules:",
    }


# the shard of the jobs of a schedule


@pytest.mark.parametrize(
    ("schedule_id", "first"),
    [("tick", "{tick}-1"), ("{a}b", "{a}b-1"), ("b{a}", "b{a}-1"), ("a{b", "{a{b}-1")],
)
def test_jobs_of_a_schedule_are_on_its_shard(url: str, schedule_id: str, first: str) -> None:
    hr, _ = open_with_clock(url, shards=4)
    with hr:
        queue = hr.queue("mail")
        queue.schedule(schedule_id, "x", every=60)

        assert ids(queue.peek(9)) == [first]
        assert hr.core.shard_of(first) == hr.core.shard_of(schedule_id)
        assert [job.schedule for job in hr.jobs([first])] == [schedule_id]


def test_single_brace_in_an_id_is_refused_with_several_shards(url: str) -> None:
    hr, _ = open_with_clock(url, shards=4)
    with hr:
        for schedule_id in ("a}b", "a{}b", "}{"):
            with pytest.raises(InvalidArgument, match="has an unpaired brace"):
                hr.queue("mail").schedule(schedule_id, "x", every=60)
        with pytest.raises(InvalidArgument, match="belong to different shards"):
            hr.queue("mail").schedule("tick", "x", every=60, key="elsewhere")
    single, _ = open_with_clock(url)
    with single:
        single.queue("mail").schedule("a}b", "x", every=60)
        assert ids(single.queue("mail").peek(9)) == ["a}b-1"]
