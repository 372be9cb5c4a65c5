"""unique: a queue has at most one unfinished job per unique value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Client, DependencyRefused, InvalidArgument, JobExists, Put, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one, wait

BRING: dict[str, Callable[[Queue], object]] = {
    "waiting": lambda _queue: None,
    "scheduled": lambda queue: pop_one(queue).release(delay=60),
    "running": pop_one,
}


@proves("C-08", "WL-01")
@pytest.mark.parametrize("state", BRING)
@pytest.mark.parametrize("policy", [None, "move", "reject", "duplicate"])
def test_second_job_with_a_unique_value_is_refused_and_changes_nothing(
    hr: Client, queue: Queue, state: str, policy: str | None
) -> None:
    first = queue.put({"to": "ada"}, unique=True)
    BRING[state](queue)
    before = dump(hr)

    with pytest.raises(JobExists, match="has this unique value") as refused:
        queue.put({"to": "ada"}, unique=True, on_exists=policy)

    assert (refused.value.job_id, refused.value.state) == (first, state)
    assert dump(hr) == before


@proves("C-08", "WL-01")
def test_uniqueness_compares_the_data_or_the_key(hr: Client, queue: Queue) -> None:
    queue.put("x", unique=True)
    queue.put("y", unique=True)
    key = queue.put("x", unique="ada")
    queue.put("x")
    queue.put("x")

    assert found(hr, key).unique == "ada"
    for data, unique in (("x", True), ("other", "ada")):
        with pytest.raises(JobExists):
            queue.put(data, unique=unique)
    assert queue.counts().waiting == 5


@proves("C-08", "WL-01")
def test_every_queue_has_values_of_its_own(hr: Client, queue: Queue) -> None:
    queue.put("x", unique=True)
    hr.queue("other").put("x", unique=True)
    assert hr.audit().problems == []


@proves("WL-01")
def test_finishing_a_job_without_a_unique_value_frees_none(hr: Client, queue: Queue) -> None:
    queue.put("x", unique=True, priority=1)
    queue.put("x")
    pop_one(queue).complete()
    assert hr.queue("mail").counts().waiting == 1

    with pytest.raises(JobExists):
        queue.put("x", unique=True)


ENDS: dict[str, Callable[[Client, Queue, Clock], object]] = {
    "complete": lambda _hr, queue, _clock: pop_one(queue).complete(),
    "complete with a result": lambda _hr, queue, _clock: pop_one(queue).complete(1),
    "complete and not kept": lambda _hr, queue, _clock: (
        queue.configure(keep_count=0),
        pop_one(queue).complete(),
    ),
    "complete with a next queue": lambda _hr, queue, _clock: pop_one(queue).complete(next="on"),
    "finished by an operator": lambda hr, queue, _clock: (pop_one(queue), hr.finish("x")),
    "popped for good": lambda _hr, queue, _clock: (queue.configure("fifo"), queue.pop("w")),
    "failed": lambda _hr, queue, _clock: pop_one(queue).fail("io"),
    "failed by an operator": lambda hr, _queue, _clock: hr.fail("x", "io"),
    "out of retries": lambda _hr, queue, clock: (
        queue.pop("w", lease=1),
        wait(clock, 1),
        queue.pop("w"),
    ),
    "cancelled": lambda hr, _queue, _clock: hr.cancel("x"),
    "cancelled by its data": lambda hr, _queue, _clock: hr.queue("mail").cancel_matching("data"),
    "cancelled while it runs": lambda hr, queue, _clock: (pop_one(queue), hr.cancel("x")),
    "expired": lambda hr, _queue, clock: (wait(clock, 60), hr.sweep()),
    "too late at a pop": lambda _hr, queue, clock: (wait(clock, 60), queue.pop("w")),
    "deleted with its queue": lambda _hr, queue, _clock: queue.delete(),
    "moved": lambda hr, _queue, _clock: hr.queue("on").put(1, id="x"),
    "requeued elsewhere": lambda hr, _queue, _clock: hr.requeue("x", "on"),
    "given another value": lambda _hr, queue, _clock: queue.put(
        1, id="x", unique="v", on_exists="replace"
    ),
}


@proves("C-08", "WL-01")
@pytest.mark.parametrize("end", ENDS)
def test_every_way_to_finish_frees_the_value(
    hr: Client, queue: Queue, clock: Clock, end: str
) -> None:
    queue.put("data", id="x", unique="u", start_within=60, retries=0)

    ENDS[end](hr, queue, clock)

    second = queue.put("new", unique="u")
    assert found(hr, second).unique == "u"
    assert hr.audit().problems == []
    with pytest.raises(JobExists):
        queue.put("newer", unique="u")


@proves("C-08")
@pytest.mark.parametrize(
    "return_it",
    [
        lambda _hr, lease: lease.release(),
        lambda _hr, lease: lease.fail("io", retry_in=5),
        lambda hr, lease: hr.timeout(lease.id),
        lambda hr, lease: hr.requeue(lease.id),
    ],
    ids=["released", "retried", "timed out", "requeued"],
)
def test_returned_job_keeps_its_value(
    hr: Client, queue: Queue, return_it: Callable[..., object]
) -> None:
    first = queue.put(1, unique="u")
    return_it(hr, pop_one(queue))

    with pytest.raises(JobExists) as refused:
        queue.put(1, unique="u")
    assert refused.value.job_id == first


@proves("C-08")
def test_claim_of_a_lost_job_does_not_block_puts(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", unique="u")
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, "job:x")))])

    second = queue.put(2, unique="u")

    with pytest.raises(JobExists) as refused:
        queue.put(3, unique="u")
    assert refused.value.job_id == second


def test_stale_claim_is_deleted_with_its_queue(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", unique="u")
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, "job:x")))])

    queue.delete()

    assert not [key for key in dump(hr) if ":unique:" in key]


# replace


@proves("C-08")
@pytest.mark.parametrize("state", ["waiting", "scheduled"])
def test_replace_changes_the_one_that_is_there(hr: Client, queue: Queue, state: str) -> None:
    first = queue.put("old", unique="u", delay=60 if state == "scheduled" else 0)
    other = queue.put("other")

    assert queue.put("new", unique="u", on_exists="replace", tags=["vip"], priority=1) == first

    job = found(hr, first)
    assert (job.data, job.tags, job.priority, job.state) == ("new", ["vip"], 1, state)
    assert queue.counts().length == 2
    assert found(hr, other).data == "other"


@proves("C-08")
def test_debounced_job_waits_until_puts_stop(hr: Client, queue: Queue, clock: Clock) -> None:
    for number in range(5):
        first = queue.put(number, unique="u", delay=10, on_exists="replace")
        assert found(hr, first).due == clock.now + timedelta(seconds=10)
        clock.tick(6)
    assert queue.pop("w") == []
    clock.tick(4)

    assert [lease.data for lease in queue.pop("w", count=9)] == [4]


@proves("C-08")
def test_replaced_job_keeps_its_due_time_unless_a_delay_is_given(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    first = queue.put(1, unique="u", delay=10)
    due = found(hr, first).due
    clock.tick(5)

    queue.put(2, unique="u", on_exists="replace")
    assert (found(hr, first).due, found(hr, first).data) == (due, 2)

    queue.put(3, unique="u", on_exists="replace", delay=0)
    assert pop_one(queue).data == 3


@proves("C-08")
def test_put_creates_a_second_unique_job_while_the_first_runs(hr: Client, queue: Queue) -> None:
    first = queue.put(1, unique="u")
    lease = pop_one(queue)

    second = queue.put(2, unique="u", on_exists="replace")
    assert second != first
    assert queue.put(3, unique="u", on_exists="replace") == second

    assert (found(hr, first).unique, found(hr, second).unique) == (None, "u")
    lease.complete()
    with pytest.raises(JobExists):
        queue.put(4, unique="u")
    assert pop_one(queue).data == 3
    assert hr.audit().problems == []


@proves("C-08")
def test_on_exists_of_the_queue_applies_without_an_option(queue: Queue) -> None:
    queue.configure(on_exists="replace")
    first = queue.put(1, unique="u")
    assert queue.put(2, unique="u") == first


@proves("C-08")
def test_blocked_job_is_replaced_and_stays_blocked(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a", priority=-1)
    queue.put(2, id="x", unique="u", depends_on=["a"])

    with pytest.raises(JobExists) as refused:
        queue.put(3, unique="u")
    assert (refused.value.job_id, refused.value.state) == ("x", "blocked")
    assert queue.put(4, unique="u", on_exists="replace") == "x"
    assert (found(hr, "x").state, found(hr, "x").depends_on) == ("blocked", ["a"])

    pop_one(queue).complete()
    assert pop_one(queue).data == 4
    assert hr.audit().problems == []


@proves("C-08")
def test_a_replacement_that_would_wait_for_itself_is_refused(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", unique="u")
    before = dump(hr)

    with pytest.raises(DependencyRefused):
        queue.put(2, unique="u", on_exists="replace", depends_on=["x"])
    assert dump(hr) == before

    pop_one(queue)
    second = queue.put(2, unique="u", on_exists="replace", depends_on=["x"])
    assert (found(hr, second).state, found(hr, second).unique) == ("blocked", "u")


@proves("WL-01")
@pytest.mark.parametrize("policy", ["cancel", "fail"])
def test_job_finished_by_a_dependency_frees_its_value(
    hr: Client, queue: Queue, policy: str
) -> None:
    queue.put(1, id="a")
    queue.put(2, id="x", unique="u", tags=["t"], depends_on=["a"], if_dependency_fails=policy)

    hr.fail("a", "io")

    queue.put(3, unique="u")
    assert hr.tags.jobs("t").total == (0 if policy == "cancel" else 1)
    assert hr.audit().problems == []


# with ids


@proves("C-08")
def test_id_and_unique_value_are_checked_separately(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", unique="u")

    with pytest.raises(JobExists) as refused:
        queue.put(2, id="y", unique="u")
    assert refused.value.job_id == "x"
    with pytest.raises(JobExists, match="already exists"):
        queue.put(2, id="x", unique="v", on_exists="reject")
    with pytest.raises(JobExists, match="has this unique value"):
        queue.put(2, id="x", unique="u", on_exists="duplicate")
    assert queue.put(2, id="y", unique="u", on_exists="replace") == "x"
    assert queue.put(3, id="x", unique="u") == "x"

    assert (found(hr, "x").data, hr.job("y")) == (3, None)


@proves("C-08")
@pytest.mark.parametrize("policy", ["move", "replace"])
def test_a_job_that_is_put_again_may_not_take_the_value_of_another(
    hr: Client, queue: Queue, policy: str
) -> None:
    queue.put(1, id="x", unique="u")
    queue.put(1, id="y", unique="v")
    before = dump(hr)

    with pytest.raises(JobExists) as refused:
        queue.put(2, id="y", unique="u", on_exists=policy)

    assert (refused.value.job_id, dump(hr)) == ("x", before)


@proves("C-08")
def test_job_is_not_moved_to_a_queue_where_its_unique_value_is_taken(
    hr: Client, queue: Queue
) -> None:
    queue.put(1, id="x", unique="u")
    hr.queue("other").put(1, id="y", unique="u")
    before = dump(hr)

    moves: list[Callable[[], object]] = [
        lambda: hr.queue("other").put(2, id="x"),
        lambda: hr.requeue("x", "other"),
    ]
    for move in moves:
        with pytest.raises(JobExists) as refused:
            move()
        assert refused.value.job_id == "y"

    assert dump(hr) == before


@proves("C-08")
def test_a_completion_is_never_refused(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", unique="u")
    queue.put(1, id="y", unique="v")
    hr.queue("other").put(1, id="z", unique="u")

    for lease in queue.pop("w", count=2):
        assert lease.complete(next="other") == "waiting"

    assert [found(hr, name).unique for name in "xyz"] == [None, "v", "u"]
    assert drain(hr.queue("other")) == ["z", "x", "y"]


@proves("C-08")
@pytest.mark.parametrize("again", ["retry", "requeue"])
def test_failed_job_can_be_retried_when_its_unique_value_is_free(
    hr: Client, queue: Queue, again: str
) -> None:
    queue.put(1, id="x", unique="u")
    hr.fail("x", "io")
    queue.put(2, id="y", unique="u")
    before = dump(hr)

    if again == "retry":
        [refused] = hr.retry("x")
    else:
        with pytest.raises(JobExists) as raised:
            hr.requeue("x")
        refused = raised.value
    assert isinstance(refused, JobExists)
    assert (refused.job_id, refused.state, dump(hr)) == ("y", "waiting", before)

    hr.cancel("y")
    getattr(hr, again)("x")
    with pytest.raises(JobExists) as raised:
        queue.put(3, unique="u")
    assert raised.value.job_id == "x"


@proves("C-08")
def test_first_of_two_retried_jobs_gets_the_unique_value(hr: Client, queue: Queue) -> None:
    for name in ("x", "y"):
        queue.put(1, id=name, unique="u")
        hr.fail(name, "io")

    first, second = hr.retry(failure="io")

    assert first == "waiting"
    assert isinstance(second, JobExists)
    assert second.job_id == "x"


# many


@proves("C-08", "WL-01")
def test_first_of_equal_unique_jobs_in_a_call_is_created(queue: Queue) -> None:
    with pytest.raises(JobExists):
        queue.put_many(
            ["a", "b", "a", Put("c", unique="k"), Put("d", unique="k"), "e"], unique=True
        )

    assert [job.data for job in queue.peek(9)] == ["a", "b", "c", "e"]


@proves("C-08")
def test_last_of_equal_unique_jobs_in_a_call_replaces_the_others(queue: Queue) -> None:
    items = [Put(1, unique="u"), Put(2, unique="v"), Put(3, unique="u")]

    made = queue.put_many(items, on_exists="replace")

    assert made[0] == made[2] != made[1]
    assert {job.id: job.data for job in queue.peek(9)} == {made[0]: 3, made[1]: 2}


def test_many_jobs_do_not_share_a_value(queue: Queue) -> None:
    with pytest.raises(InvalidArgument, match="jobs cannot share"):
        queue.put_many([1, 2], unique="u")


@proves("C-08")
def test_unique_value_does_not_change_with_the_data(hr: Client, queue: Queue) -> None:
    queue.put("old", id="x", unique=True)
    queue.put("new", id="x")

    with pytest.raises(JobExists):
        queue.put("old", unique=True)
    assert ids([found(hr, queue.put("new", unique=True))])
