"""Read one page of jobs, or all pages of any operation that returns pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sized
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any, TypeVar

from headrace.engine.call import Call, build
from headrace.engine.check import PAGE
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Page, read_job
from headrace.transport.drive import Operation

# With several shards, the offset plus the count of a page must not exceed this number.
LAST_POSITION = 100_000

Entry = tuple[tuple[float, int], str]
AnyPage = TypeVar("AnyPage", bound=Sized)


def all_pages(
    read: Callable[..., Operation[AnyPage]],
    *args: Any,
    size: int = PAGE,
    end: int = sys.maxsize,
    length: Callable[[AnyPage], int] = len,
) -> Operation[list[AnyPage]]:
    """Call an operation for one page after the other, up to item `end`, and return the pages.

    `size` is the maximum count per call. `length` returns the number of items on a page. A page
    with fewer items than the count is the last page.
    """
    pages: list[AnyPage] = []
    offset = 0
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


def page_call(
    core: Core, role: str, name: str, offset: int, count: int, *, newest_first: bool
) -> Call[Page]:
    """Return a call that reads a page of jobs from one shard."""

    def decode(reply: list[Any]) -> Page:
        return Page(reply[0], [read_job(core.codec, described) for described in reply[1:]])

    return build(
        "job_page",
        decode,
        role=role,
        name=name,
        newest_first=int(newest_first),
        offset=offset,
        count=count,
    )


def ids_of_page(
    core: Core, role: str, name: str, offset: int, count: int, *, newest_first: bool
) -> Operation[tuple[int, list[str]]]:
    """Return the total number of jobs on all shards, and the job ids of one page.

    Every shard returns its ids up to the end of the page, in steps that do not keep the server busy
    for long. Merging these ids preserves the order of each shard, so pages do not overlap and do
    not omit jobs.
    """
    end = offset + count
    if end > LAST_POSITION:
        raise InvalidArgument(
            f"with several shards, offset + count must be at most {LAST_POSITION}, not {end}"
        )
    total = 0
    ids_by_shard = []
    read = partial(_page_of_ids, core, role, name, newest_first=newest_first)
    for shard in range(core.shards):
        pages = yield from all_pages(read, shard, end=end, length=lambda page: len(page[1]))
        total += pages[-1][0]
        ids_by_shard.append(chain.from_iterable(ids for _, ids in pages))
    merged = merge(*ids_by_shard, key=lambda entry: entry[0], reverse=newest_first)
    return total, [job_id for _, job_id in islice(merged, offset, end)]


def _page_of_ids(
    core: Core, role: str, name: str, shard: int, offset: int, count: int, *, newest_first: bool
) -> Operation[tuple[int, list[Entry]]]:
    call: Call[list[Any]] = build(
        "list_ids",
        list,
        role=role,
        name=name,
        newest_first=int(newest_first),
        offset=offset,
        count=count,
    )
    total, *found = yield from ask_one(core, shard, call)
    rows = zip(found[::3], found[1::3], found[2::3], strict=True)
    return total, [((float(score), put), job_id.decode()) for job_id, score, put in rows]
