"""Every operation on a job in every state: the new state, or the refusal.

A refused operation changes nothing and publishes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import (
    Client,
    HeadraceError,
    JobError,
    JobNotFound,
    Lease,
    LeaseLost,
    Queue,
    WrongState,
)
from headrace.engine.states import STATES
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import pop_one

# The state of the job afterwards, or the error; "-" means no change and no error. A job that is
# "taken" runs under another lease: its former lease is lost; operators see no difference.
TABLE = """
                    absent  waiting   scheduled  running    taken      failed    complete  blocked
lease.heartbeat     GONE    LOST      LOST       running    LOST       LOST      LOST      LOST
lease.progress      GONE    LOST      LOST       running    LOST       LOST      LOST      LOST
lease.log           GONE    LOST      LOST       running    LOST       LOST      LOST      LOST
lease.complete      GONE    LOST      LOST       complete   LOST       LOST      LOST      LOST
lease.result        GONE    LOST      LOST       complete   LOST       LOST      LOST      LOST
lease.next          GONE    LOST      LOST       waiting    LOST       LOST      LOST      LOST
lease.next_blocked  GONE    LOST      LOST       blocked    LOST       LOST      LOST      LOST
lease.fail          GONE    LOST      LOST       failed     LOST       LOST      LOST      LOST
lease.try_again     GONE    LOST      LOST       scheduled  LOST       LOST      LOST      LOST
lease.release       GONE    LOST      LOST       waiting    LOST       LOST      LOST      LOST
cancel              -       absent    absent     absent     absent     absent    -         absent
fail                GONE    failed    failed     failed     failed     failed    WRONG     failed
finish              GONE    WRONG     WRONG      complete   complete   WRONG     WRONG     WRONG
prioritise          GONE    waiting   scheduled  running    running    failed    WRONG     blocked
release             GONE    WRONG     WRONG      waiting    waiting    WRONG     WRONG     WRONG
requeue             GONE    waiting   waiting    waiting    waiting    waiting   waiting   waiting
retry               GONE    WRONG     WRONG      WRONG      WRONG      waiting   WRONG     WRONG
timeout             GONE    WRONG     WRONG      waiting    waiting    WRONG     WRONG     WRONG
depend              GONE    blocked   blocked    WRONG      WRONG      WRONG     WRONG     blocked
undepend            GONE    WRONG     WRONG      WRONG      WRONG      WRONG     WRONG     waiting
tag                 GONE    waiting   scheduled  running    running    failed    complete  blocked
track               GONE    waiting   scheduled  running    running    failed    complete  blocked
untag               GONE    waiting   scheduled  running    running    failed    complete  blocked
"""

ERRORS: dict[str, type[JobError]] = {"GONE": JobNotFound, "LOST": LeaseLost, "WRONG": WrongState}


def take_over(queue: Queue, clock: Clock) -> None:
    clock.tick(30)
    queue.pop("w2", lease=30)


BRING: dict[str, Callable[[Client, Queue, Clock, Lease], object]] = {
    "absent": lambda hr, _queue, _clock, _lease: hr.cancel("x"),
    "waiting": lambda _hr, _queue, _clock, lease: lease.release(),
    "scheduled": lambda _hr, _queue, _clock, lease: lease.release(delay=60),
    "running": lambda _hr, _queue, _clock, _lease: None,
    "taken": lambda _hr, queue, clock, _lease: take_over(queue, clock),
    "failed": lambda _hr, _queue, _clock, lease: lease.fail("broken"),
    "complete": lambda _hr, _queue, _clock, lease: lease.complete(),
    "blocked": lambda hr, _queue, _clock, lease: (
        lease.release(),
        hr.dependencies.add("x", on=["before"]),
    ),
}

OPERATIONS: dict[str, Callable[[Client, Lease], object]] = {
    "lease.heartbeat": lambda _hr, lease: lease.heartbeat(data="new"),
    "lease.progress": lambda _hr, lease: lease.progress(0.5, "note"),
    "lease.log": lambda _hr, lease: lease.log("line"),
    "lease.complete": lambda _hr, lease: lease.complete(),
    "lease.result": lambda _hr, lease: lease.complete("result", data="new"),
    "lease.next": lambda _hr, lease: lease.complete(next="archive"),
    "lease.next_blocked": lambda _hr, lease: lease.complete(next="archive", depends_on=["before"]),
    "lease.fail": lambda _hr, lease: lease.fail("other", data="new"),
    "lease.try_again": lambda _hr, lease: lease.fail("other", retry_in=5),
    "lease.release": lambda _hr, lease: lease.release(),
    "cancel": lambda hr, _lease: hr.cancel("x"),
    "depend": lambda hr, _lease: hr.dependencies.add("x", on=["before"]),
    "fail": lambda hr, _lease: hr.fail("x", "other"),
    "finish": lambda hr, _lease: hr.finish("x", "result"),
    "prioritise": lambda hr, _lease: hr.prioritise("x", -1),
    "release": lambda hr, _lease: hr.release("x"),
    "requeue": lambda hr, _lease: hr.requeue("x"),
    "retry": lambda hr, _lease: hr.retry("x"),
    "timeout": lambda hr, _lease: hr.timeout("x"),
    "tag": lambda hr, _lease: hr.tags.add("x", "vip"),
    "track": lambda hr, _lease: hr.tracking.add("x"),
    "untag": lambda hr, _lease: hr.tags.remove("x", "vip"),
    "undepend": lambda hr, _lease: hr.dependencies.remove("x"),
}


Cell = tuple[str, str, str]


def cells() -> list[Cell]:
    head, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [
        (operation, state, outcome)
        for operation, *outcomes in rows
        for state, outcome in zip(head, outcomes, strict=True)
    ]


ACCEPTED = [cell for cell in cells() if cell[2] not in ERRORS and cell[2] != "-"]
REFUSED = [cell for cell in cells() if cell[2] in ERRORS]
IGNORED = [cell[:2] for cell in cells() if cell[2] == "-"]


def bring(hr: Client, queue: Queue, clock: Clock, state: str) -> Lease:
    """Bring a job into a state; return the lease under which it ran."""
    queue.put("old", id="x")
    lease = pop_one(queue, worker="w1", lease=30)
    hr.queue("other").put("first", id="before")
    BRING[state](hr, queue, clock, lease)
    assert state_of(hr) == ("running" if state == "taken" else state)
    return lease


def state_of(hr: Client) -> str:
    job = hr.job("x")
    return "absent" if job is None else job.state


def refusal_of(operation: str, hr: Client, lease: Lease) -> HeadraceError | None:
    """Return the error that a call raises, or that it returns for the only job of its batch."""
    try:
        answer = OPERATIONS[operation](hr, lease)
    except HeadraceError as error:
        return error
    if isinstance(answer, list) and answer and isinstance(answer[0], HeadraceError):
        return answer[0]
    return None


def test_table_has_every_state_and_operation() -> None:
    assert (
        {state for _, state, _ in cells()}
        == set(BRING)
        == set(STATES)
        | {
            "absent",
            "taken",
        }
    )
    assert {operation for operation, _, _ in cells()} == set(OPERATIONS)


@proves("Q-60", "Q-79")
@pytest.mark.parametrize("cell", ACCEPTED, ids="-".join)
def test_allowed_operation_moves_the_job_to_its_new_state(
    hr: Client, queue: Queue, clock: Clock, cell: Cell
) -> None:
    operation, state, outcome = cell
    lease = bring(hr, queue, clock, state)

    assert refusal_of(operation, hr, lease) is None

    assert state_of(hr) == outcome
    assert hr.audit().problems == []


@proves("Q-52", "Q-62", "Q-77", "Q-78")
@pytest.mark.parametrize("cell", REFUSED, ids="-".join)
def test_refused_operation_gives_the_reason_and_changes_nothing(
    hr: Client, queue: Queue, clock: Clock, cell: Cell
) -> None:
    operation, state, outcome = cell
    lease = bring(hr, queue, clock, state)
    before = dump(hr)

    refusal = refusal_of(operation, hr, lease)

    assert type(refusal) is ERRORS[outcome]
    if isinstance(refusal, LeaseLost | WrongState):
        assert refusal.state == state_of(hr)
    if isinstance(refusal, LeaseLost):
        assert refusal.worker == ("w2" if state == "taken" else "")
    assert dump(hr) == before


@proves("QL-01")
@pytest.mark.parametrize(("operation", "state"), IGNORED)
def test_ignored_operation_is_no_error_and_changes_nothing(
    hr: Client, queue: Queue, clock: Clock, operation: str, state: str
) -> None:
    lease = bring(hr, queue, clock, state)
    before = dump(hr)

    assert OPERATIONS[operation](hr, lease) == []

    assert dump(hr) == before


@proves("Q-62")
@pytest.mark.parametrize("state", BRING)
def test_refusal_publishes_nothing(
    hr: Client, queue: Queue, clock: Clock, url: str, state: str
) -> None:
    lease = bring(hr, queue, clock, state)
    channels = ["queue:mail", "queue:archive", "worker:w1", "worker:w2", "ended:"]

    with listening(hr, url, *channels) as listener:
        for operation, where, _ in REFUSED:
            if where == state:
                assert refusal_of(operation, hr, lease) is not None

        assert listener.heard() == []


@proves("Q-52")
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if "." in name])
def test_guessed_token_is_refused(hr: Client, queue: Queue, operation: str) -> None:
    queue.put("old", id="x")
    lease = pop_one(queue)
    before = dump(hr)

    for token in ("1.guess", lease.token[:-1], lease.token + "x", "1.", "1", "x" * 40):
        forged = with_token(lease, token)
        assert isinstance(refusal_of(operation, hr, forged), LeaseLost)

    assert dump(hr) == before


def with_token(lease: Lease, token: str) -> Lease:
    forged = Lease(lease.core, lease._popped)
    forged.token = token
    return forged
