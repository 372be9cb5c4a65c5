"""Job: its states, and calls that are not allowed in a state."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace import Client, HeadraceError
from headrace.compat.thoonk import Empty, JobDoesNotExist, JobNotPending, Thoonk
from headrace.transport.drive import Operation
from tests.compat.thoonk.support.steps import changes, keys, operation_of, steps_of, tried
from tests.proof import proves
from tests.support.dump import dump

REFUSED = {
    "finish": (JobDoesNotExist, ("waiting", "stalled", "finished", "bogus")),
    "cancel": (JobNotPending, ("waiting", "stalled", "finished", "bogus")),
    "stall": (JobDoesNotExist, ("waiting", "stalled", "finished", "bogus")),
    "retry": (JobDoesNotExist, ("waiting", "running", "finished", "bogus")),
}


@proves("T-49", "T-51", "T-55", "T-56", "TD-04", "TD-06", "TD-07")
@pytest.mark.parametrize("verb", REFUSED)
def test_call_in_the_wrong_state_is_refused_and_changes_nothing(
    thoonk: Any, hr: Client, verb: str
) -> None:
    steps, [running, stalled, finished, waiting] = steps_of(thoonk, *"rsfw")
    for _ in range(3):
        steps.get(1)
    steps.stall(stalled)
    steps.finish(finished, "result")
    ids = {"running": running, "stalled": stalled, "finished": finished, "waiting": waiting}
    before = dump(hr)

    error, states = REFUSED[verb]
    for state in states:
        message = tried(error, getattr(steps, verb), ids.get(state, "bogus"))
        assert "nothing was changed" in message

    assert dump(hr) == before
    assert steps.get(1) == (waiting, "w", 0)


@proves("TD-06", "TD-07")
def test_job_without_an_item_is_never_returned(thoonk: Any) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    tried(JobDoesNotExist, steps.finish, job_id)
    tried(JobDoesNotExist, steps.retry, "bogus")

    assert steps.get(1) == (job_id, "item", 0)
    tried(Empty, steps.get, 0.01)


@proves("T-55", "TD-10")
def test_stall_does_not_affect_a_job_that_was_cancelled_meanwhile(
    hr: Client, plain: Thoonk
) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    stalling = operation_of(steps, "stall", job_id)
    wish = next(stalling)
    answer = hr.core.transport.send(wish.commands)
    steps.cancel(job_id)
    before = dump(hr)

    wish = stalling.send(answer)
    answer = hr.core.transport.send(wish.commands)
    with pytest.raises(JobDoesNotExist, match="is waiting"):
        stalling.send(answer)

    assert dump(hr) == before


@proves("T-57")
@pytest.mark.parametrize("seed", range(3))
def test_job_is_in_exactly_one_state_and_has_an_item(hr: Client, plain: Thoonk, seed: int) -> None:
    chance = random.Random(seed)
    steps = plain.job("steps")
    known = [steps.put("item") for _ in range(4)]
    verbs = (steps.finish, steps.cancel, steps.stall, steps.retry, steps.retract)
    for _ in range(40):
        try:
            if chance.random() < 0.4:
                steps.get(0.001)
            else:
                chance.choice(verbs)(chance.choice(known))
        except HeadraceError:
            known.append(steps.put("item"))

    counts = hr.queue("steps").counts()
    listed = [*steps.get_ids()]
    assert len(listed) == len(set(listed)) == counts.waiting + counts.running + counts.failed
    assert [one for one in known if steps.has_id(one)] == [one for one in known if one in listed]
    assert set(steps.get_all().values()) == {"item"}
    assert hr.audit().balanced


@proves("T-59", "T-74")
def test_ids_of_every_state_are_listed_with_the_next_waiting_one_last(thoonk: Any) -> None:
    steps, put = steps_of(thoonk, *"abcd")
    steps.get(1)
    steps.get(1)
    steps.stall(put[0])

    assert steps.get_ids() == [put[3], put[2], put[1], put[0]]
    assert steps.get_all() == dict(zip(reversed(put), "dcba", strict=True))
    assert steps.length() == 4


@proves("T-60")
def test_job_is_retracted_in_any_state(thoonk: Any, hr: Client) -> None:
    steps, [stalled, running, waiting] = steps_of(thoonk, *"srw")
    steps.get(1)
    steps.get(1)
    steps.stall(stalled)

    for one in (stalled, running, waiting):
        steps.retract(one)

    assert steps.get_ids() == []
    assert keys(hr) <= {"feeds", "feed:steps", "queues", "settings:steps", "books:steps"}
    before = dump(hr)
    steps.retract("bogus")
    assert dump(hr) == before


def test_jobs_of_another_feed_are_not_affected(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    other = thoonk.job("other")
    before = dump(hr)

    tried(JobDoesNotExist, other.finish, job_id)
    tried(JobDoesNotExist, other.stall, job_id)
    tried(JobNotPending, other.cancel, job_id)
    other.retract(job_id)
    assert other.get_item(job_id) is None

    assert dump(hr) == before


def _operations(steps: Any, job_id: str) -> dict[str, Operation[Any]]:
    return {
        "put": operation_of(steps, "put", "item"),
        "get": operation_of(steps, "get", 1),
        "finish": operation_of(steps, "finish", job_id),
        "finish with a result": operation_of(steps, "finish", job_id, "result"),
        "cancel": operation_of(steps, "cancel", job_id),
        "stall": operation_of(steps, "stall", job_id),
    }


@proves("TD-10", "T-45")
@pytest.mark.parametrize(
    "verb", ["put", "get", "finish", "finish with a result", "cancel", "stall"]
)
def test_every_transition_is_one_step(hr: Client, plain: Thoonk, verb: str) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    steps.put("next")

    assert changes(hr, _operations(steps, job_id)[verb]) == 1
    assert hr.audit().balanced


@proves("TD-10")
def test_retry_is_one_step(hr: Client, plain: Thoonk) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    steps.stall(job_id)

    assert changes(hr, operation_of(steps, "retry", job_id)) == 1
