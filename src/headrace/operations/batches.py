"""Split calls about many jobs into batches: by shard, with a bounded number of jobs each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from headrace.engine.call import Arg, Call
from headrace.errors import ServerUnavailable
from headrace.operations.core import Core
from headrace.operations.requests import ask, ask_one
from headrace.transport.drive import Operation

T = TypeVar("T")
Row = tuple[Arg, ...]
R = TypeVar("R", bound=tuple[Any, ...])


def rounds(
    core: Core, rows: Sequence[tuple[Any, ...]], most: int | None = None
) -> Iterator[list[tuple[int, list[int]]]]:
    """Yield round trips: for each shard the positions of up to `most` rows.

    The first value of a row is the id of its job. The default of `most` is Limits.batch.
    """
    by_shard: dict[int, list[int]] = {}
    for position, row in enumerate(rows):
        by_shard.setdefault(core.shard_of(str(row[0])), []).append(position)
    size = most or core.limits.batch
    longest = max((len(positions) for positions in by_shard.values()), default=0)
    for start in range(0, longest, size):
        yield [
            (shard, positions[start : start + size])
            for shard, positions in by_shard.items()
            if start < len(positions)
        ]


def in_batches(
    core: Core,
    rows: Sequence[R],
    make: Callable[[Sequence[R]], Call[list[T]]],
    most: int | None = None,
) -> Operation[list[T]]:
    """Make calls of up to `most` rows per shard and return one answer per row, in order.

    Raises ServerUnavailable with maybe_done=True if a later batch fails after an earlier one was
    answered.
    """
    if core.shards == 1 and 0 < len(rows) <= (most or core.limits.batch):
        return (yield from ask_one(core, 0, make(rows)))
    answers: dict[int, T] = {}
    for batch in rounds(core, rows, most):
        calls = [(shard, make([rows[i] for i in positions])) for shard, positions in batch]
        try:
            replies = yield from ask(core, calls)
        except ServerUnavailable as error:
            error.maybe_done = error.maybe_done or bool(answers)
            raise
        for (_, positions), found in zip(batch, replies, strict=True):
            answers.update(zip(positions, found, strict=True))
    return [answers[position] for position in range(len(rows))]
