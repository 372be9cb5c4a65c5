"""Split a call about many jobs into batches of limited size, each for one shard."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import Any, TypeVar

from headrace.engine.call import Arg, Call
from headrace.operations.core import Core
from headrace.operations.requests import ask, ask_one
from headrace.transport.drive import Operation

T = TypeVar("T")
Row = tuple[Arg, ...]
R = TypeVar("R", bound=tuple[Any, ...])

# The maximum size of all payloads in one call. A larger payload gets a call of its own. Copying a
# MiB keeps the server busy for some milliseconds.
BATCH_BYTES = 1 << 20


def chunks(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Split items into parts of up to `size` items."""
    return [items[first : first + size] for first in range(0, len(items), size)]


def chunks_by_size(
    items: Iterable[T], size_of: Callable[[T], int], most: int, *, count: int = sys.maxsize
) -> Iterator[list[T]]:
    """Split items into parts of up to `count` items whose sizes add up to at most `most`.

    An item that is larger than `most` gets a part of its own.
    """
    part: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if part and (len(part) == count or total + size > most):
            yield part
            part, total = [], 0
        part.append(item)
        total += size
    if part:
        yield part


def cut(rows: Sequence[R], most: int, payloads: Sequence[int] = ()) -> Sequence[Sequence[R]]:
    """Split rows into parts of up to `most` rows whose payloads have up to BATCH_BYTES bytes.

    `payloads` are the positions of the payloads in each row.
    """
    if _size(rows, payloads) <= BATCH_BYTES:
        return chunks(rows, most)
    return [*chunks_by_size(rows, lambda row: _size([row], payloads), BATCH_BYTES, count=most)]


def _size(rows: Sequence[tuple[Any, ...]], payloads: Sequence[int]) -> int:
    return sum(sum(map(len, map(itemgetter(payload), rows))) for payload in payloads)


def rounds(
    core: Core,
    rows: Sequence[tuple[Any, ...]],
    most: int | None = None,
    payloads: Sequence[int] = (),
) -> Iterator[list[tuple[int, list[int]]]]:
    """Yield one batch per round trip, with the positions of up to `most` rows for each shard.

    The first value of a row is the job id. The default of `most` is Limits.batch. `payloads` are
    the positions of the payloads in each row.
    """
    by_shard: dict[int, list[tuple[Any, ...]]] = {}
    for position, row in enumerate(rows):
        by_shard.setdefault(core.shard_of(str(row[0])), []).append((*row, position))
    parts = [
        [
            (shard, [row[-1] for row in part])
            for part in cut(placed, most or core.limits.batch, payloads)
        ]
        for shard, placed in by_shard.items()
    ]
    for batch in zip_longest(*parts):
        yield [part for part in batch if part is not None]


def in_batches(
    core: Core,
    rows: Sequence[R],
    make: Callable[[Sequence[R]], Call[list[T]]],
    most: int | None = None,
    payloads: Sequence[int] = (),
) -> Operation[list[T]]:
    """Make calls of up to `most` rows per shard and return one answer per row, in order.

    If the rows have payloads, at the positions `payloads`, the size of a call is limited too.

    Raises ServerUnavailable with maybe_done=True if a batch fails after an earlier batch was
    answered.
    """
    is_small = _size(rows, payloads) <= BATCH_BYTES
    if core.shards == 1 and 0 < len(rows) <= (most or core.limits.batch) and is_small:
        return (yield from ask_one(core, 0, make(rows)))
    answers: dict[int, T] = {}
    for batch in rounds(core, rows, most, payloads):
        calls = [(shard, make([rows[i] for i in positions])) for shard, positions in batch]
        replies = yield from ask(core, calls, part_done=bool(answers))
        for (_, positions), found in zip(batch, replies, strict=True):
            answers.update(zip(positions, found, strict=True))
    return [answers[position] for position in range(len(rows))]
