"""retry_failed and cancel_failed: thousands of failed jobs in bounded steps, oldest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from headrace import Bulk, Client, InvalidArgument, Put
from headrace.operations.batches import in_batches
from headrace.operations.failures import STEP
from headrace.operations.finishing import fail_call
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.clients import Location, got
from tests.support.dump import dump
from tests.support.jobs import pop_one


@pytest.fixture(params=[1, 4])
def location(request: pytest.FixtureRequest, url: str) -> Location:
    return Location(url, shards=request.param)


def set_aside(hr: Client, ids: list[str], failure: str = "io") -> None:
    """Fail jobs as an operator does."""
    rows = [(job_id, "", failure, "why", None, -1, b"") for job_id in ids]
    asking = in_batches(hr.core, rows, lambda part: fail_call(hr.core, part))
    assert set(drive(hr.core.transport, asking)) == {"failed"}


def failed_one_by_one(hr: Client, clock: Clock, count: int, **options: Any) -> list[str]:
    """Return the ids of failed jobs, oldest failure first."""
    ids = [f"job {number}" for number in range(count)]
    hr.queue("mail").put_many([Put(0, id=job_id, **options) for job_id in ids])
    for job_id in ids:
        clock.tick(1)
        set_aside(hr, [job_id])
    return ids


def waiting(hr: Client, queue: str = "mail") -> set[str]:
    return {job.id for job in hr.queue(queue).jobs("waiting", count=1000).jobs}


@proves("QL-02")
async def test_thousands_are_retried_in_steps(calm: Client, any_client: Any) -> None:
    ids = calm.queue("mail").put_many(range(3 * STEP + 7))
    set_aside(calm, ids)
    seen: list[Bulk] = []

    report = await got(any_client.failures.retry("io", on_progress=seen.append))

    assert report == Bulk(matched=len(ids), done=len(ids), refused=0) == seen[-1]
    assert len(seen) >= 4
    assert calm.queue("mail").counts().waiting == len(ids)
    assert calm.failures.counts() == {}
    assert calm.audit().problems == []
    assert await got(any_client.failures.retry("io")) == Bulk()


async def test_failed_jobs_of_every_queue_are_found(calm: Client, any_client: Any) -> None:
    ids = [f"job {number}" for number in range(102)]
    for number, job_id in enumerate(ids):
        calm.queue(f"q {number}").put(0, id=job_id)
    set_aside(calm, ids)

    assert await got(any_client.failures.retry()) == Bulk(102, 102, 0)


async def test_thousands_are_cancelled_in_steps(calm: Client, any_client: Any) -> None:
    ids = calm.queue("mail").put_many(range(2 * STEP + 7))
    set_aside(calm, ids)

    report = await got(any_client.failures.cancel(queue="mail"))

    assert report == Bulk(matched=len(ids), done=len(ids), refused=0)
    assert calm.queue("mail").counts().failed == 0
    assert calm.jobs(ids[:5]) == []
    assert calm.audit().problems == []


async def test_the_oldest_come_first(calm: Client, clock: Clock, any_client: Any) -> None:
    ids = failed_one_by_one(calm, clock, 20)

    assert (await got(any_client.failures.retry("io", count=6))).done == 6
    assert waiting(calm) == set(ids[:6])
    assert (await got(any_client.failures.cancel("io", count=5))).done == 5
    assert [job.id for job in calm.jobs(ids)] == ids[:6] + ids[11:]
    assert (await got(any_client.failures.retry(queue="mail", count=3))).done == 3
    assert waiting(calm) == set(ids[:6] + ids[11:14])


async def test_pace_spreads_the_due_times_of_retried_jobs(
    calm: Client, clock: Clock, any_client: Any
) -> None:
    ids = failed_one_by_one(calm, clock, 9)

    report = await got(any_client.failures.retry("io", pace="2/s", delay=10))

    assert report.done == 9
    due = [job.due for job in calm.jobs(ids)]
    assert due == [clock.now + timedelta(seconds=10 + nth / 2) for nth in range(9)]


async def test_first_job_of_a_paced_retry_is_due_at_once(
    calm: Client, clock: Clock, any_client: Any
) -> None:
    ids = failed_one_by_one(calm, clock, 3)

    await got(any_client.failures.retry("io", pace="1/m"))

    assert [job.state for job in calm.jobs(ids)] == ["waiting", "scheduled", "scheduled"]


FILTERS: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"failure": "io"}, "abcd"),
    "queue": ({"queue": "mail"}, "aceg"),
    "tag": ({"tag": "vip"}, "abef"),
    "type and queue": ({"failure": "bug", "queue": "post"}, "fh"),
    "type and tag": ({"failure": "bug", "tag": "vip"}, "ef"),
    "queue and tag": ({"queue": "post", "tag": "vip"}, "bf"),
    "all": ({"failure": "io", "queue": "mail", "tag": "vip"}, "a"),
    "none": ({}, "abcdefgh"),
    "unknown type": ({"failure": "never"}, ""),
    "unknown queue": ({"queue": "never"}, ""),
    "unknown tag": ({"tag": "never"}, ""),
    "since": ({"since": 3}, "defgh"),
    "until": ({"until": 3}, "abc"),
    "between": ({"since": 2, "until": 4, "failure": "io"}, "cd"),
    "never": ({"since": 4, "until": 4}, ""),
}


def eight_of_a_kind(hr: Client, clock: Clock) -> datetime:
    """Fail jobs a to h of all types, queues and tags, one second after the other."""
    first = clock.now
    for number, job_id in enumerate("abcdefgh"):
        tags = ["vip", "late"] if job_id in "abef" else ["late"]
        hr.queue("mail" if number % 2 == 0 else "post").put(0, id=job_id, tags=tags)
        set_aside(hr, [job_id], "io" if number < 4 else "bug")
        clock.tick(1)
    return first


def as_given(chosen: dict[str, Any], first: datetime) -> dict[str, Any]:
    """Return the options with timestamps instead of seconds."""
    return {
        name: first + timedelta(seconds=value) if name in ("since", "until") else value
        for name, value in chosen.items()
    }


async def test_dry_run_counts_matching_jobs_and_changes_nothing(
    calm: Client, clock: Clock, any_client: Any
) -> None:
    first = eight_of_a_kind(calm, clock)
    before = dump(calm)
    for given, chosen in FILTERS.values():
        options = as_given(given, first)
        assert await got(any_client.failures.retry(**options, dry_run=True)) == Bulk(len(chosen)), (
            given
        )
        assert await got(any_client.failures.cancel(**options, dry_run=True)) == Bulk(
            len(chosen)
        ), given
    assert dump(calm) == before


@pytest.mark.parametrize("name", ["type and tag", "queue and tag", "all", "between", "none"])
async def test_filters_select_the_matching_failed_jobs(
    calm: Client, clock: Clock, any_client: Any, name: str
) -> None:
    given, chosen = FILTERS[name]
    first = eight_of_a_kind(calm, clock)

    assert (await got(any_client.failures.retry(**as_given(given, first)))).done == len(chosen)
    assert waiting(calm) | waiting(calm, "post") == set(chosen)
    assert (await got(any_client.failures.cancel())).done == 8 - len(chosen)
    assert waiting(calm) | waiting(calm, "post") == set(chosen)


async def test_filters_examine_many_jobs_that_do_not_match(calm: Client, any_client: Any) -> None:
    plain = calm.queue("mail").put_many(range(2 * STEP))
    marked = calm.queue("mail").put_many(range(3), tags=["vip"])
    set_aside(calm, plain)
    set_aside(calm, marked)

    assert await got(any_client.failures.retry("io", tag="vip")) == Bulk(3, 3, 0)
    assert waiting(calm) == set(marked)


@pytest.mark.parametrize("call", ["retry", "cancel"])
async def test_job_that_fails_meanwhile_is_not_processed_twice(
    calm: Client, clock: Clock, any_client: Any, call: str
) -> None:
    """The call terminates even if workers fail the retried jobs at once."""
    ids = failed_one_by_one(calm, clock, 30)
    calm.queue("mail").put_many([Put(0, id=f"new {n}") for n in range(30)])

    def fail_more(_: Bulk) -> None:
        clock.tick(1)
        set_aside(calm, [f"new {n}" for n in range(30)])
        if call == "retry":
            set_aside(calm, ids)

    report = await got(getattr(any_client.failures, call)("io", on_progress=fail_more))

    assert report == Bulk(30, 30, 0)


@pytest.mark.parametrize("call", ["retry", "cancel"])
async def test_job_that_is_moved_meanwhile_is_left_alone(
    calm: Client, clock: Clock, any_client: Any, call: str
) -> None:
    ids = calm.queue("mail").put_many(range(2 * STEP))
    set_aside(calm, ids)
    first = True

    def meddle(_: Bulk) -> None:
        nonlocal first
        if first:
            left = {job.id for job in calm.failures.jobs("io", count=STEP).jobs}
            assert len(left) >= 3
            retried, failed_anew, cancelled = sorted(left)[:3]
            clock.tick(1)
            calm.retry(retried)
            calm.retry(failed_anew)
            set_aside(calm, [failed_anew])
            calm.cancel(cancelled)
            meddled.extend((retried, failed_anew))
        first = False

    meddled: list[str] = []
    report = await got(getattr(any_client.failures, call)("io", on_progress=meddle))

    states = {job.id: job.state for job in calm.jobs(meddled)}
    assert [states[job_id] for job_id in meddled] == ["waiting", "failed"]
    assert report.done == 2 * STEP - 3
    assert report.refused == 0
    assert report.matched in range(2 * STEP - 3, 2 * STEP + 1)
    assert calm.audit().problems == []


async def test_refusals_are_counted(calm: Client, clock: Clock, any_client: Any) -> None:
    mail = calm.queue("mail")
    first = mail.put(1, unique="one")
    set_aside(calm, [first])
    clock.tick(1)
    mail.put(2, unique="one")
    parent = mail.put(3)
    mail.put(4, depends_on=[parent])
    set_aside(calm, [parent])

    assert await got(any_client.failures.cancel("io")) == Bulk(matched=2, done=1, refused=1)
    assert [job.id for job in calm.failures.jobs("io").jobs] == [parent]
    again = mail.put(5, unique="two")
    set_aside(calm, [again])
    mail.put(6, unique="two")
    assert await got(any_client.failures.retry("io")) == Bulk(matched=2, done=1, refused=1)
    assert [job.id for job in calm.failures.jobs("io").jobs] == [again]
    assert calm.audit().problems == []


@proves("Q-82")
async def test_types_are_shown_with_their_newest_failure(
    calm: Client, clock: Clock, any_client: Any
) -> None:
    assert await got(any_client.failures.groups()) == []
    for number in range(6):
        clock.tick(1)
        calm.queue(f"q{number}").put(0, id=f"job {number}")
        for_all = "often" if number < 4 else "seldom"
        while not (leases := calm.queue(f"q{number}").pop("w")):
            pass
        leases[0].fail(for_all, f"message {number}")

    often, seldom = await got(any_client.failures.groups())

    assert (often.type, often.count, seldom.type, seldom.count) == ("often", 4, "seldom", 2)
    assert (often.message, often.queue, often.job_id) == ("message 3", "q3", "job 3")
    assert (seldom.message, seldom.at) == ("message 5", clock.now)
    assert await got(any_client.failures.groups(offset=1, count=1)) == [seldom]


@pytest.mark.parametrize("call", ["retry", "cancel"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"failure": ""},
        {"failure": 5},
        {"queue": ""},
        {"tag": 5},
        {"since": 5},
        {"since": datetime(2026, 1, 1)},  # noqa: DTZ001 - a time without a zone is invalid
        {"until": "2026-01-01"},
        {"count": 0},
        {"count": 2.5},
    ],
    ids=repr,
)
def test_contradictory_filters_are_refused(valkey_url: str, call: str, wrong: Any) -> None:
    client, _ = open_with_clock(valkey_url)
    with client:
        client.queue("mail").put(1, id="x")
        pop_one(client.queue("mail")).fail("io")
        before = dump(client)
        with pytest.raises(InvalidArgument):
            getattr(client.failures, call)(**wrong)
        assert dump(client) == before


@pytest.mark.parametrize("pace", ["", "fast", 5, "0/s", "10", "1/0s"])
def test_invalid_pace_is_refused(valkey_url: str, pace: Any) -> None:
    client, _ = open_with_clock(valkey_url)
    with client, pytest.raises(InvalidArgument, match="pace"):
        client.failures.retry("io", pace=pace)
