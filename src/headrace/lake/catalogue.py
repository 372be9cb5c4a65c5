"""The catalogue: the valid build of each day of the tables. It does not need Spark.

A day is built from its own events and from the events that the day before carries over. The
catalogue records both, so that a day is rebuilt only when one of them has changed.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from headrace.lake.files import Files, still_folders
from headrace.lake.lake import LakeMoved
from headrace.lake.manifest import LakeRecord, packed, unpacked

TABLES = "tables"
CATALOGUE = f"{TABLES}/catalogue"

VERSION: Final = 3
"""The version of the tables. Days that an earlier version built are rebuilt."""

NOTHING: Final = ""
"""The digest of no carried events."""

GRACE = 3600.0
"""The seconds for which replaced builds stay, because a reader may still need them."""


class DayBuild(LakeRecord, frozen=True):
    """A build of one day.

    before and after are digests of the events carried into this day and out of it. Events are only
    ever added to a day, so that their number shows whether there are new ones.
    """

    day: dt.date
    events: int
    before: str
    after: str
    build: str
    tables: tuple[str, ...]
    version: int = VERSION


class Catalogue(LakeRecord, frozen=True):
    """The valid builds, sorted by day."""

    number: int = 0
    days: tuple[DayBuild, ...] = ()


def newest(files: Files) -> Catalogue:
    """Return the newest catalogue."""
    while numbers := _numbers(files):
        path = _path(max(numbers))
        try:
            return unpacked(Catalogue, path, files.read(path))
        except FileNotFoundError:
            # A rollup committed a newer catalogue, and sweep deleted this one.
            continue
    return Catalogue()


def commit(files: Files, base: Catalogue, built: Iterable[DayBuild]) -> Catalogue:
    """Replace the builds of these days. Raises LakeMoved if another rollup committed first."""
    made = Catalogue(number=base.number + 1, days=_with(base, built))
    if not files.create(_path(made.number), packed(made)):
        raise LakeMoved(
            f"another rollup of the lake in {files} committed first, so nothing was committed; "
            "run it again"
        )
    return made


def new_build() -> str:
    """Return a unique name for a build."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def folder_of(table: str, build: str) -> str:
    """Return the folder of a build of a table. It has a subfolder for each day."""
    return f"{TABLES}/{table}/build={build}"


def fresh(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[DayBuild]:
    """Return the builds before the first stale day, given the number of events of each day."""
    known = {built.day: built for built in catalogue.days}
    found: list[DayBuild] = []
    left = NOTHING
    for day in sorted(events):
        built = known.get(day)
        if built is None or built.before != left or not _is_of(built, events[day]):
            break
        found.append(built)
        left = built.after
    return found


def next_run(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[dt.date]:
    """Return the days to build together: the first stale day, and later days with new events.

    Whether the day after them is stale too is known only after they are built.
    """
    known = {built.day: built for built in catalogue.days}
    stale = sorted(events)[len(fresh(catalogue, events)) :]
    run = stale[:1]
    for day in stale[1:]:
        built = known.get(day)
        if built is not None and _is_of(built, events[day]):
            break
        run.append(day)
    return run


def _with(base: Catalogue, built: Iterable[DayBuild]) -> tuple[DayBuild, ...]:
    days = {each.day: each for each in (*base.days, *built)}
    return tuple(days[day] for day in sorted(days))


def sweep(files: Files, grace: float = GRACE) -> list[str]:
    """Remove builds that were replaced before the grace, and the files of dead rollups."""
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


def _is_of(built: DayBuild, events: int) -> bool:
    return built.events == events and built.version == VERSION


def _numbers(files: Files) -> Sequence[int]:
    names = (found.path.rpartition("/")[2] for found in files.list(CATALOGUE))
    return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]


def _path(number: int) -> str:
    return f"{CATALOGUE}/{number:020}.json"
