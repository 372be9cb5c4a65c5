"""Read one page of a sorted set, or read all pages of a list."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from heapq import merge
from itertools import chain, islice
from typing import Any, TypeVar

from headrace.engine.call import Arg, Call, build
from headrace.engine.check import PAGE
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.requests import ask_one, raw
from headrace.transport.drive import Operation

# With several shards, the offset plus the count of a page must not exceed this number.
LAST_POSITION = 100_000
# The maximum number of names to read from each shard. Rare names are read too, because a name that
# is rare on each shard may be frequent in total.
MOST_NAMES = 10_000

Entry = tuple[tuple[float, int], str]
AnyPage = TypeVar("AnyPage", bound=Sized)


def all_pages(
    read: Callable[..., Operation[AnyPage]],
    *args: Any,
    size: int = PAGE,
    start: int = 0,
    end: int = sys.maxsize,
    length: Callable[[AnyPage], int] = len,
) -> Operation[list[AnyPage]]:
    """Read all pages of a list, one call of an operation per page, and return the pages.

    The pages have the items from item `start` up to item `end`, at most `size` items per call.
    `length` returns the number of items on a page. A page with fewer items than the count is the
    last page.
    """
    pages: list[AnyPage] = []
    offset = start
    while True:
        count = min(size, end - offset)
        page = yield from read(*args, offset=offset, count=count)
        pages.append(page)
        offset += length(page)
        if length(page) < count or offset >= end:
            return pages


def all_items(
    read: Callable[..., Operation[Any]], *args: Any, size: int = PAGE, end: int = sys.maxsize
) -> Operation[list[Any]]:
    """Return the items of all pages; if the pages are dicts, return (key, value) pairs."""
    pages = yield from all_pages(read, *args, size=size, end=end)
    return [each for page in pages for each in (page.items() if isinstance(page, dict) else page)]


def pages_of_script(
    core: Core,
    shard: int,
    op: str,
    rows: Sequence[tuple[Arg, ...]] = (),
    args: Mapping[str, Arg] | None = None,
    **pages: Any,
) -> Operation[list[list[Any]]]:
    """Read all pages of a list, one script call per page; return the replies. See `all_pages`."""

    def read(*, offset: int, count: int) -> Operation[list[Any]]:
        call: Call[list[Any]] = build(op, list, rows, offset=offset, count=count, **(args or {}))
        return (yield from ask_one(core, shard, call))

    return (yield from all_pages(read, **pages))


def ids_of_page(
    core: Core, role: str, name: str, offset: int, count: int, *, newest_first: bool
) -> Operation[tuple[int, list[str]]]:
    """Return the total number of jobs on all shards, and the job ids of one page.

    Every shard returns its ids up to the end of the page, in steps that do not keep the server busy
    for long. Merging these ids preserves the order of each shard, so pages do not overlap and do
    not omit jobs. A single shard returns only the ids of the page.
    """
    start = offset if core.shards == 1 else 0
    end = offset + count
    if end - start > LAST_POSITION:
        raise InvalidArgument(
            f"with several shards, offset + count must be at most {LAST_POSITION}, not {end}"
        )
    args: dict[str, Arg] = {"role": role, "name": name, "newest_first": int(newest_first)}
    total = 0
    ids_by_shard = []
    for shard in range(core.shards):
        pages = yield from pages_of_script(
            core, shard, "list_ids", args=args, start=start, end=end, length=_entry_count
        )
        total += pages[-1][0]
        ids_by_shard.append(chain.from_iterable(map(_entries, pages)))
    merged = merge(*ids_by_shard, key=lambda entry: entry[0], reverse=newest_first)
    return total, [job_id for _, job_id in islice(merged, offset - start, end - start)]


def _entry_count(page: list[Any]) -> int:
    return len(page) // 3


def _entries(page: list[Any]) -> list[Entry]:
    rows = zip(page[1::3], page[2::3], page[3::3], strict=True)
    return [((float(score), put_at), job_id.decode()) for job_id, score, put_at in rows]


def counts_of_names(
    core: Core, key: str, *, least: int = 1, most: int = MOST_NAMES
) -> Operation[Counter[str]]:
    """Return each name in a sorted set with its number of jobs, summed over the shards.

    The operation reads the `most` most frequent names with at least `least` jobs from each shard.
    """
    totals = Counter[str]()
    for found in (yield from names_by_shard(core, range(core.shards), key, 0, least, most)):
        totals.update(found)
    return totals


def names_by_shard(
    core: Core, shards: Iterable[int], key: str, offset: int, least: int, count: int
) -> Operation[list[dict[str, int]]]:
    """Return a page of names from each shard's sorted set, each name with its number of jobs."""
    words = ("+inf", least, "BYSCORE", "REV", "LIMIT", offset, count, "WITHSCORES")
    replies = yield from raw(
        core, [(shard, ("ZRANGE", core.key(shard, key), *words)) for shard in shards]
    )
    return [
        {name.decode(): int(times) for name, times in zip(reply[::2], reply[1::2], strict=True)}
        for reply in replies
    ]


def first_names(core: Core, key: str, offset: int, count: int) -> Operation[list[str]]:
    """Return a page of the names in a sorted set, sorted by their lowest score on any shard."""
    start = offset if core.shards == 1 else 0
    words = (start, offset + count - 1, "WITHSCORES")
    replies = yield from raw(
        core, [(shard, ("ZRANGE", core.key(shard, key), *words)) for shard in range(core.shards)]
    )
    order: dict[str, float] = {}
    for reply in replies:
        for name, score in zip(reply[::2], reply[1::2], strict=True):
            at = float(score)
            order[name.decode()] = min(at, order.get(name.decode(), at))
    names = sorted(order, key=lambda name: (order[name], name))
    return names[offset - start : offset - start + count]
