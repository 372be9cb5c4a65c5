"""complete and pop travel together: one round trip for the end of some jobs and the next ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.batches import turns
from headrace.client.talk import Talk, ask
from headrace.client.talks.ending import complete_call, completions
from headrace.client.talks.faces import QueueFace
from headrace.client.talks.holding import letting_go
from headrace.client.talks.popping import Handout, Popped, pop_call, until_tidy
from headrace.engine.call import Answer
from headrace.engine.check import Span
from headrace.errors import InvalidArgument


def complete_and_pop(
    queue: QueueFace,
    leases: Iterable[Any],
    worker: str,
    results: Iterable[Any] | None,
    count: int,
    lease: Span | None,
) -> Talk[tuple[list[Answer], list[Popped]]]:
    """The commands of a node are carried out in order, so what is completed here is not in the
    way of what is popped; the pop goes to one shard, another one each time.
    """
    core = queue.core
    rows = completions(core, leases, results)
    make_pop = pop_call(queue, worker, count, lease)
    every_turn = list(turns(core, rows))
    if len(every_turn) > 1:
        raise InvalidArgument(f"up to {core.limits.batch} jobs of a shard can be completed so")
    turn = every_turn[0] if every_turn else []
    calls: list[Any] = [
        (shard, complete_call(core, [rows[i] for i in positions], None, 0))
        for shard, positions in turn
    ]
    shard = core.next_shard
    core.next_shard = (shard + 1) % core.shards
    popped = Handout(None, [])

    def asking() -> Talk[list[Answer]]:
        nonlocal popped
        *completed, popped = yield from ask(core, [*calls, (shard, make_pop(count))])
        answers: dict[int, Answer] = {}
        for (_, positions), found in zip(turn, completed, strict=True):
            answers.update(zip(positions, found, strict=True))
        return [answers[i] for i in range(len(rows))]

    answers = yield from letting_go(core, rows, asking())
    if not popped.jobs and popped.due == 0:
        popped = yield from until_tidy(core, shard, make_pop(count), make_pop)
    return answers, popped.jobs
