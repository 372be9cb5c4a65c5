"""Complete jobs and pop the next jobs in one round trip."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeVar

from headrace.engine.call import Answer
from headrace.engine.check import Span
from headrace.errors import InvalidArgument
from headrace.operations.batches import rounds
from headrace.operations.core import Core
from headrace.operations.durability import confirmed
from headrace.operations.finishing import GIVEN, complete_call, completions
from headrace.operations.lease_watch import while_finishing
from headrace.operations.popping import (
    Handout,
    Popped,
    give_back,
    next_reachable_shard,
    pop_after_housekeeping,
    pop_call,
)
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import ask
from headrace.transport.drive import Operation

T = TypeVar("T")


def complete_and_pop(
    queue: QueueLike,
    leases: Iterable[Any],
    worker: str,
    results: Iterable[Any] | None,
    count: int,
    lease: Span | None,
    make_lease: Callable[[Core, Popped], T],
) -> Operation[tuple[list[Answer], list[T]]]:
    """Complete jobs and pop the next jobs in one round trip; see Queue.complete_and_pop.

    A node carries out its commands in order, so the pop runs after the completions. The completed
    jobs then no longer count against concurrency limits. Each call pops from one shard, and the
    next call pops from the next shard.
    """
    core = queue.core
    rows = completions(core, leases, results)
    make_pop = pop_call(queue, worker, count, lease)
    if len(list(rounds(core, rows))) > 1:
        raise InvalidArgument(
            f"complete_and_pop takes up to {core.limits.batch} jobs per shard; "
            "for more jobs, use leases.complete"
        )
    # One shard may get several calls, because the size of a call is limited too.
    batch = list(chain.from_iterable(rounds(core, rows, payloads=GIVEN)))
    calls: list[Any] = [
        (shard, complete_call(core, [rows[i] for i in positions], None, 0))
        for shard, positions in batch
    ]
    shard = next_reachable_shard(core)
    pop = make_pop(count)
    popped = Handout(None, [])

    def complete() -> Operation[list[Answer]]:
        nonlocal popped
        *completed, popped = yield from ask(core, [*calls, (shard, pop)])
        answers: dict[int, Answer] = {}
        for (_, positions), found in zip(batch, completed, strict=True):
            answers.update(zip(positions, found, strict=True))
        return [answers[i] for i in range(len(rows))]

    def request() -> Operation[tuple[list[Answer], list[T]]]:
        nonlocal popped
        answers = yield from while_finishing(core, rows, complete())
        if not popped.is_final:
            popped = yield from pop_after_housekeeping(core, shard, make_pop(count), make_pop)
        return answers, [make_lease(core, each) for each in popped.jobs]

    try:
        return (yield from confirmed(core, None, request()))
    except CancelledError:
        yield from give_back(core, shard, pop)
        raise
