"""manual: a popped job runs until a client finishes it by its id."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Client, JobNotFound, LeaseLost, Queue, WrongState
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import commands
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one

TRANSITIONS: dict[str, Callable[[Client, Queue, str, str], object]] = {
    "pop": lambda _, queue, *__: queue.pop("w"),
    "finish": lambda hr, _, running, __: hr.finish(running, "result"),
    "release": lambda hr, _, running, __: hr.release(running),
    "fail": lambda hr, _, running, __: hr.fail(running, "stalled"),
    "retry": lambda hr, _, __, failed: hr.retry(failed),
    "cancel": lambda hr, _, running, __: hr.cancel(running),
}


@pytest.fixture
def manual(hr: Client) -> Queue:
    queue = hr.queue("steps")
    queue.configure(profile="manual")
    return queue


@proves("T-40")
def test_a_put_is_at_the_back_and_under_an_id_of_its_own(manual: Queue) -> None:
    put = [manual.put("one", id="a"), manual.put("two", id="a"), manual.put("three")]

    assert len(set(put)) == 3
    assert drain(manual) == put


@proves("T-41", "TD-15")
def test_a_pop_makes_the_job_running_and_notes_when(
    hr: Client, manual: Queue, clock: Clock
) -> None:
    job_id = manual.put("data")
    clock.tick(0.007)

    lease = pop_one(manual, "w")

    assert (lease.id, lease.data, lease.job.releases) == (job_id, "data", 0)
    assert lease.popped_at == clock.now
    job = found(hr, job_id)
    assert (job.state, job.worker, job.expires) == ("running", "w", None)
    assert job.history[-1].popped == clock.now


@proves("T-41", "T-45", "TD-10")
@pytest.mark.parametrize("transition", TRANSITIONS)
def test_every_transition_is_one_command(
    hr: Client, manual: Queue, url: str, transition: str
) -> None:
    for _ in ("the first time the script is loaded", "this time it counts"):
        running, failed, _ = manual.put_many([1, 2, 3])
        manual.pop("w", count=2)
        hr.fail(failed, "stalled")
        with commands(url) as sent:
            TRANSITIONS[transition](hr, manual, running, failed)
        assert hr.audit().balanced
        manual.delete()
        manual.configure(profile="manual")

    assert [line.split()[0] for line in sent] == ["FCALL"]


@proves("T-42")
def test_empty_pop_returns_in_time_and_changes_nothing(hr: Client, manual: Queue) -> None:
    manual.put("held")
    manual.pop("w")
    before = dump(hr)
    started = time.monotonic()

    assert manual.pop("w", wait=0.2) == []

    assert 0.2 <= time.monotonic() - started < 2
    assert dump(hr) == before


@proves("T-43")
@pytest.mark.parametrize("size", [1, 5000])
def test_data_is_kept_until_the_job_is_finished(hr: Client, manual: Queue, size: int) -> None:
    job_id = manual.put("x" * size)

    manual.pop("w")
    assert len(found(hr, job_id).data) == size
    hr.release(job_id)
    assert len(found(hr, job_id).data) == size
    hr.fail(job_id, "stalled")
    assert len(found(hr, job_id).data) == size
    hr.cancel(job_id)
    assert hr.job(job_id) is None


@proves("T-44")
def test_finishing_removes_the_job_with_all_that_belongs_to_it(hr: Client, manual: Queue) -> None:
    manual.put("other")
    manual.pop("w")
    before = {key for key in dump(hr) if not key.endswith("}:log")}
    job_id = manual.put("x" * 5000)
    manual.pop("w")
    hr.release(job_id)
    manual.pop("w")

    assert hr.finish(job_id) == "complete"

    assert {key for key in dump(hr) if not key.endswith("}:log")} == before
    assert hr.job(job_id) is None


@proves("T-49", "TD-06")
def test_finishing_is_refused_unless_the_job_runs(hr: Client, manual: Queue) -> None:
    waiting, failed = manual.put("a"), manual.put("b")
    hr.fail(failed, "stalled")
    before = dump(hr)

    for job_id, error in ((waiting, WrongState), (failed, WrongState), ("bogus", JobNotFound)):
        with pytest.raises(error):
            hr.finish(job_id, "result")

    assert dump(hr) == before
    assert pop_one(manual).data == "a"


@proves("T-50")
def test_a_released_job_goes_to_the_back_and_is_counted(manual: Queue, hr: Client) -> None:
    first, second = manual.put("A"), manual.put("B")
    manual.pop("w")

    assert hr.release(first) == "waiting"

    leases = [pop_one(manual), pop_one(manual)]
    assert [(lease.id, lease.job.releases) for lease in leases] == [(second, 0), (first, 1)]


@proves("T-51", "TD-04")
def test_releasing_is_refused_unless_the_job_runs(hr: Client, manual: Queue) -> None:
    waiting, failed = manual.put("a"), manual.put("b")
    hr.fail(failed, "stalled")
    before = dump(hr)

    for job_id, error in ((waiting, WrongState), (failed, WrongState), ("bogus", JobNotFound)):
        with pytest.raises(error):
            hr.release(job_id)

    assert dump(hr) == before


@proves("T-52")
def test_any_client_may_finish_a_job_by_its_id(manual: Queue, hr: Client) -> None:
    put = manual.put_many(["release", "fail", "finish"])
    manual.pop("w", count=3)

    assert hr.release(put[0]) == "waiting"
    assert hr.fail(put[1], "stalled") == "failed"
    assert hr.retry(put[1]) == ["waiting"]
    assert hr.finish(put[2]) == "complete"


@proves("T-53", "TD-03")
def test_releases_are_counted_for_each_job_alone(hr: Client, manual: Queue) -> None:
    often, never = manual.put("often"), manual.put("never")
    counted = []
    for _ in range(3):
        lease = next(lease for lease in manual.pop("w", count=2) if lease.id == often)
        counted.append(lease.job.releases)
        hr.release(often)

    assert counted == [0, 1, 2]
    assert found(hr, never).releases == 0


@proves("T-54", "TD-17")
def test_a_retried_job_has_no_releases(hr: Client, manual: Queue) -> None:
    job_id = manual.put("x")
    manual.pop("w")
    hr.release(job_id)
    manual.pop("w")

    hr.fail(job_id, "stalled")
    assert found(hr, job_id).releases == 1
    hr.retry(job_id)

    assert pop_one(manual).job.releases == 0


@proves("T-54")
def test_finished_job_leaves_no_release_count_for_a_later_job_with_its_id(
    hr: Client, manual: Queue
) -> None:
    manual.put("x", id="a")
    manual.pop("w")
    hr.release("a")
    manual.pop("w")
    hr.finish("a")

    manual.put("x", id="a")

    assert pop_one(manual).job.releases == 0


@proves("T-55")
def test_job_that_was_failed_by_id_is_kept_and_not_delivered(hr: Client, manual: Queue) -> None:
    job_id = manual.put("x")
    lease = pop_one(manual)

    assert hr.fail(job_id, "stalled", "no ink") == "failed"

    assert manual.pop("w") == []
    job = found(hr, job_id)
    assert job.failure is not None
    assert (job.data, job.failure.type, job.failure.message) == ("x", "stalled", "no ink")
    assert ids(hr.failures.jobs("stalled").jobs) == [job_id]
    with pytest.raises(LeaseLost):
        lease.fail("stalled")


@proves("T-56", "TD-16")
def test_a_retried_job_goes_to_the_back(hr: Client, manual: Queue) -> None:
    first, second = manual.put("A"), manual.put("B")
    manual.pop("w")
    hr.fail(first, "stalled")

    assert hr.retry(first) == ["waiting"]

    assert drain(manual) == [second, first]


@proves("T-56", "TD-07")
def test_retrying_is_refused_unless_the_job_is_failed(hr: Client, manual: Queue) -> None:
    running, waiting = manual.put("a"), manual.put("b")
    manual.pop("w")
    before = dump(hr)

    answers = hr.retry(running, waiting, "bogus")

    assert [type(answer) for answer in answers] == [WrongState, WrongState, JobNotFound]
    assert dump(hr) == before
    assert drain(manual) == [waiting]


@proves("T-58")
def test_manual_jobs_are_never_reclaimed(hr: Client, manual: Queue, clock: Clock) -> None:
    old, young = manual.put("a"), manual.put("b")
    hr.session("w", ttl=3)
    manual.pop("w")
    clock.tick(timedelta(days=400))
    hr.sweep()
    manual.pop("w")

    assert manual.pop("other") == []
    held = {job.id: job.history[-1].popped for job in manual.jobs("running").jobs}
    assert held == {old: clock.now - timedelta(days=400), young: clock.now}
    assert hr.release(old) == "waiting"


@proves("TD-05")
@pytest.mark.parametrize("way_out", ["release", "fail", "timeout"])
def test_every_way_to_finish_a_job_ends_the_lease(hr: Client, manual: Queue, way_out: str) -> None:
    job_id = manual.put("x")
    lease = pop_one(manual)

    if way_out == "fail":
        hr.fail(job_id, "stalled")
    else:
        getattr(hr, way_out)(job_id)

    job = found(hr, job_id)
    assert (job.worker, job.expires) == ("", None)
    assert all(stage.popped is None for stage in job.history)
    assert manual.jobs("running").total == 0
    with pytest.raises(LeaseLost):
        lease.heartbeat()
