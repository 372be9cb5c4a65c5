"""result: the result of a job with its data; a client may wait for it and take it once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, JobNotFound, NoResult, Queue, Result, WrongState
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import meanwhile, until_listened_to
from tests.support.dump import dump
from tests.support.jobs import found, pop_one
from tests.support.processes import run_python


@pytest.fixture
def manual(hr: Client) -> Queue:
    queue = hr.queue("steps")
    queue.configure(profile="manual")
    return queue


def held(queue: Queue, data: Any = "data", **options: Any) -> str:
    """Return the id of a running job."""
    queue.put(data, **options)
    return pop_one(queue).id


@proves("T-45", "T-47")
def test_a_result_comes_with_the_data_of_the_job(hr: Client, manual: Queue) -> None:
    job_id = held(manual, {"to": "ada"})

    hr.finish(job_id, [1, 2])

    assert hr.result(job_id) == Result([1, 2], {"to": "ada"})


@proves("T-46")
@pytest.mark.parametrize("value", [None, "", [], 0, False])
def test_an_empty_result_is_a_result(hr: Client, manual: Queue, value: Any) -> None:
    job_id = held(manual)

    hr.finish(job_id, value)

    assert hr.result(job_id).value == value


@proves("T-46")
def test_a_job_finished_without_a_result_has_none(hr: Client, manual: Queue, queue: Queue) -> None:
    gone, kept = held(manual), held(queue)

    hr.finish(gone)
    hr.finish(kept)

    with pytest.raises(JobNotFound):
        hr.result(gone)
    with pytest.raises(NoResult):
        hr.result(kept)


@proves("T-47")
def test_there_is_no_result_in_time(hr: Client, manual: Queue) -> None:
    job_id = held(manual)
    before = dump(hr)

    with pytest.raises(NoResult):
        hr.result(job_id)
    with pytest.raises(NoResult):
        hr.result(job_id, wait=0.2, take=True)
    with pytest.raises(JobNotFound):
        hr.result("bogus", wait=0.1)

    assert dump(hr) == before


@proves("T-47", "T-48")
def test_a_result_can_be_waited_for_before_the_job_is_put(hr: Client, manual: Queue) -> None:
    with meanwhile(lambda: hr.result("a", wait=20)) as waiting:
        until_listened_to(hr, "ended:")
        held(manual, id="a")
        hr.finish("a", "done")

    assert waiting.result().value == "done"


@proves("T-48")
def test_a_result_is_taken_by_exactly_one(hr: Client, manual: Queue) -> None:
    job_id = held(manual, "x" * 5000)
    before = {key for key in dump(hr) if "}:job" not in key}
    hr.finish(job_id, "done")

    assert hr.result(job_id, take=True) == Result("done", "x" * 5000)

    with pytest.raises(JobNotFound):
        hr.result(job_id, take=True)
    assert set(dump(hr)) < before


@proves("T-48")
def test_only_one_of_many_waiting_clients_takes_the_result(hr: Client, manual: Queue) -> None:
    job_id = held(manual)

    def take() -> str:
        try:
            return str(hr.result(job_id, wait=20, take=True).value)
        except JobNotFound:
            return "too late"

    with meanwhile(take) as one, meanwhile(take) as other:
        until_listened_to(hr, "ended:", listeners=2)
        hr.finish(job_id, "done")

    assert sorted([one.result(), other.result()]) == ["done", "too late"]


@pytest.mark.namespace(server_clock=True)
@proves("T-48")
def test_another_process_can_have_the_result(hr: Client, manual: Queue, url: str) -> None:
    job_id = held(manual)
    hr.finish(job_id, "done")
    program = (
        "import sys, headrace; hr = headrace.connect(sys.argv[1], namespace=sys.argv[2]);"
        "print(hr.result(sys.argv[3], take=True).value)"
    )

    ran = run_python(program, url, hr.core.namespace, job_id)

    assert ran.stdout == "done\n", ran.stderr
    with pytest.raises(JobNotFound):
        hr.result(job_id)


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_wait_ends_when_the_job_finishes_without_a_result(
    hr: Client, manual: Queue, end: str
) -> None:
    job_id = held(manual)

    with meanwhile(lambda: hr.result(job_id, wait=None)) as waiting:
        until_listened_to(hr, "ended:")
        getattr(hr, end)(job_id)

    assert isinstance(waiting.exception(), JobNotFound)


def test_wait_raises_when_the_job_fails(hr: Client, queue: Queue) -> None:
    job_id = held(queue)

    with meanwhile(lambda: hr.result(job_id, wait=None)) as waiting:
        until_listened_to(hr, "ended:")
        hr.fail(job_id, "no ink")

    assert isinstance(waiting.exception(), WrongState)


@proves("TD-13")
@pytest.mark.parametrize("payload", [b"", b"\0", b"a\0b\0", bytes(range(256)) * 8])
def test_data_and_result_may_contain_any_byte(url: str, payload: bytes) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        job_id = held(hr.queue("steps"), payload)

        hr.finish(job_id, payload[::-1])

        assert hr.result(job_id) == Result(payload[::-1], payload)


@proves("TD-14")
def test_unread_result_is_deleted_after_a_day(hr: Client, manual: Queue, clock: Clock) -> None:
    before = set(dump(hr))
    job_id = held(manual)
    hr.finish(job_id, "done")

    clock.tick(timedelta(days=1, milliseconds=-1))
    hr.sweep()
    assert hr.result(job_id).value == "done"
    clock.tick(timedelta(milliseconds=1))
    hr.sweep()

    with pytest.raises(JobNotFound):
        hr.result(job_id)
    left = {key.split("}:")[1] for key in set(dump(hr)) - before}
    assert left <= {"books:steps", "events", "log", "agenda"}


@proves("TD-14")
def test_job_and_queue_decide_how_long_a_result_is_kept(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(result_ttl=100)
    short, usual = held(queue, result_ttl=10), held(queue)
    hr.finish(short, "done")
    hr.finish(usual, "done")

    clock.tick(10)
    hr.sweep()

    with pytest.raises(NoResult):
        hr.result(short)
    assert found(hr, short).state == "complete"
    assert hr.result(usual).value == "done"
    clock.tick(90)
    queue.put("any call does it")
    with pytest.raises(NoResult):
        hr.result(usual)


@pytest.mark.parametrize("profile", ["job", "manual"])
@pytest.mark.parametrize("again", ["put", "requeue"])
def test_a_job_put_again_does_not_have_its_old_result(
    hr: Client, queue: Queue, profile: str, again: str
) -> None:
    queue.configure(profile=profile, on_exists="move")
    held(queue, "old", id="a")
    hr.finish("a", "old result")

    if again == "put":
        queue.put("new", id="a")
    else:
        hr.requeue("a")

    with pytest.raises(NoResult):
        hr.result("a", take=True)
    assert pop_one(queue).id == "a"
    hr.finish("a", "new result")
    assert hr.result("a").value == "new result"
    assert hr.audit().balanced
