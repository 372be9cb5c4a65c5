"""The catalogue: which build of each day of the tables counts. No Spark.

A day is built from its own events, and from what the day before leaves for later ones. Both are
written down, so that a day is built again only when one of them has changed.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from headrace.lake.files import Files, still_folders
from headrace.lake.lake import LakeMoved
from headrace.lake.manifest import Value, packed, unpacked

TABLES = "tables"
CATALOGUE = f"{TABLES}/catalogue"

VERSION: Final = 2
"""How tables are made; what an earlier way has made is made anew."""

NOTHING: Final = ""
"""The digest of nothing that is left for later days."""

GRACE = 3600.0
"""For so many seconds builds stay that no longer count: somebody may be reading them."""


class Built(Value, frozen=True):
    """A build of a day. before and after: digests of what was left for it, and of what it leaves;
    numbers: the first and the last event of each shard.

    As the events of a day only become more, how many there are tells whether there are new ones.
    """

    day: dt.date
    events: int
    before: str
    after: str
    build: str
    tables: tuple[str, ...]
    numbers: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    version: int = VERSION


class Catalogue(Value, frozen=True):
    """The builds that count, by day."""

    number: int = 0
    days: tuple[Built, ...] = ()


def newest(files: Files) -> Catalogue:
    """What counts now."""
    while numbers := _numbers(files):
        path = _path(max(numbers))
        try:
            return unpacked(Catalogue, path, files.read(path))
        except FileNotFoundError:
            # There was a newer one, and it was old already.
            continue
    return Catalogue()


def commit(files: Files, base: Catalogue, built: Iterable[Built]) -> Catalogue:
    """Makes builds count in place of earlier ones of their days."""
    made = Catalogue(number=base.number + 1, days=_with(base, built))
    if not files.create(_path(made.number), packed(made)):
        raise LakeMoved(
            f"another rollup of the lake in {files} was committed first: nothing was; run it again"
        )
    return made


def new_build() -> str:
    """A name that no other build has."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def folder_of(table: str, build: str) -> str:
    """Where a build of a table is; below it there is a folder for each day."""
    return f"{TABLES}/{table}/build={build}"


def fresh(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[Built]:
    """The days up to the first one that is to be built, given how many events each day has."""
    known = {built.day: built for built in catalogue.days}
    found: list[Built] = []
    left = NOTHING
    for day in sorted(events):
        built = known.get(day)
        if built is None or built.before != left or not _is_of(built, events[day]):
            break
        found.append(built)
        left = built.after
    return up_to_a_seam(found, catalogue.days)


def next_run(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[dt.date]:
    """Days that are to be built together: the first that must be, and those after it that have
    new events too. Whether what they leave changes the next one is seen when they are built.
    """
    known = {built.day: built for built in catalogue.days}
    tied = _tied(catalogue.days)
    stale = sorted(events)[len(fresh(catalogue, events)) :]
    run = stale[:1]
    for day in stale[1:]:
        built = known.get(day)
        if built is not None and _is_of(built, events[day]) and run[-1] not in tied:
            break
        run.append(day)
    return run


def whole_run(catalogue: Catalogue, built: Sequence[Built]) -> list[dt.date]:
    """The days of a run, and those that must be built together with them, as is now known."""
    days = _with(catalogue, built)
    tied = _tied(days)
    every = [each.day for each in days]
    first, last = every.index(built[0].day), every.index(built[-1].day)
    while first and every[first - 1] in tied:
        first -= 1
    while every[last] in tied:
        last += 1
    return every[first : last + 1]


def up_to_a_seam(built: Sequence[Built], days: Sequence[Built]) -> list[Built]:
    """The first of some days, without the last ones that must be built with later ones."""
    tied = _tied(days)
    found = list(built)
    while found and found[-1].day in tied:
        found.pop()
    return found


def _tied(days: Sequence[Built]) -> set[dt.date]:
    """The days that must be built together with the next one.

    Where the clock was set back over midnight, an event of a day comes after one of a later day.
    """
    reached = _bounds(days, 1, max)
    begins = _bounds(days[::-1], 0, min)[::-1]
    return {
        built.day
        for built, furthest, later in zip(days, reached, begins[1:], strict=False)
        if any(later.get(shard, last) < last for shard, last in furthest.items())
    }


def _bounds(
    days: Sequence[Built], end: int, choose: Callable[[int, int], int]
) -> list[dict[int, int]]:
    """The least first or the greatest last event of each shard, up to each of these days."""
    found: list[dict[int, int]] = []
    bounds: dict[int, int] = {}
    for built in days:
        of_day = {shard: numbers[end] for shard, numbers in built.numbers.items()}
        chosen = {shard: choose(one, bounds.get(shard, one)) for shard, one in of_day.items()}
        bounds = bounds | chosen
        found.append(bounds)
    return found


def _with(base: Catalogue, built: Iterable[Built]) -> tuple[Built, ...]:
    days = {each.day: each for each in (*base.days, *built)}
    return tuple(days[day] for day in sorted(days))


def sweep(files: Files, grace: float = GRACE) -> list[str]:
    """Removes builds that have not counted for a while, and what dead rollups have left."""
    latest = time.time() - grace
    listed = files.list(CATALOGUE)
    named: set[str] = set()
    for at, found in enumerate(listed, start=1):
        if at == len(listed) or listed[at].written > latest:
            catalogue = unpacked(Catalogue, found.path, files.read(found.path))
            named |= {built.build for built in catalogue.days}
        else:
            files.delete(found.path)
    swept = [
        folder
        for folder in sorted(still_folders(files, TABLES, latest))
        if folder.partition("/build=")[2] not in {"", *named}
    ]
    for folder in swept:
        files.delete(folder)
    return swept


def _is_of(built: Built, events: int) -> bool:
    return built.events == events and built.version == VERSION


def _numbers(files: Files) -> Sequence[int]:
    names = (found.path.rpartition("/")[2] for found in files.list(CATALOGUE))
    return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]


def _path(number: int) -> str:
    return f"{CATALOGUE}/{number:020}.json"
