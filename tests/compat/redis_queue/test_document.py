"""The document of redis-queue, sentence by sentence, for a message with id 123."""

from __future__ import annotations

from typing import Any

from headrace import Client
from headrace.testing import Clock
from tests.compat.redis_queue.support.pushing import push
from tests.proof import proves
from tests.support.jobs import found


@proves("R-01")
def test_an_application_posts_a_message_id_into_the_queue(hr: Client, rq: Any) -> None:
    push(hr, rq, "letters", "123")

    assert rq.safe_pop("letters") == "123"


@proves("R-02")
def test_safe_pop_returns_an_id_that_stays_in_the_queue(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123")

    rq.safe_pop("letters")

    assert hr.queue("letters").length() == 1
    job = found(hr, "123")
    assert (job.state, job.queue) == ("running", "letters")
    assert job.expires is not None
    assert (job.expires - clock.now).total_seconds() == 30


@proves("R-03", "R-06")
def test_done_id_is_discarded_and_the_next_one_returned(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123", "124")
    rq.safe_pop("letters")

    rq.mark_done("letters", "123")
    clock.tick(31)

    assert rq.safe_pop("letters") == "124"
    assert rq.safe_pop("letters") is None


@proves("R-04")
def test_late_id_is_returned_with_a_new_time(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123")
    rq.safe_pop("letters")
    clock.tick(31)

    assert rq.safe_pop("letters") == "123"

    job = found(hr, "123")
    assert job.expires is not None
    assert (job.expires - clock.now).total_seconds() == 30
    assert job.attempt == 2


@proves("R-05")
def test_id_that_is_not_late_is_not_changed(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123")
    rq.safe_pop("letters")
    clock.tick(29.999)
    before = found(hr, "123")

    assert rq.safe_pop("letters") is None

    assert found(hr, "123") == before


@proves("R-07")
def test_id_is_never_removed_without_mark_done(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123")

    for attempt in range(1, 21):
        assert rq.safe_pop("letters") == "123"
        assert found(hr, "123").attempt == attempt
        clock.tick(30)

    assert hr.queue("letters").length() == 1


@proves("R-13", "R-16")
def test_worker_needs_only_two_functions(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "letters", "123")

    assert rq.safe_pop("letters") == "123"
    assert rq.safe_pop("letters") is None
    clock.tick(30)
    assert rq.safe_pop("letters") == "123"
    rq.mark_done("letters", "123")
    clock.tick(3600)
    assert rq.safe_pop("letters") is None
    assert hr.audit().balanced
