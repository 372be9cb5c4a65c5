"""The catalogue lists, for each day, the valid build of the tables. The module needs no Spark.

A rollup builds the tables of each day. The rollup reads the events of that day, and the earlier
events that the tables still need. These earlier events are carried over from the previous day. For
each day, the catalogue records the number of events and a digest of the events carried over. A
rollup compares these values and rebuilds only the days that have changed.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from headrace.lake.files import GRACE, Files, still_folders
from headrace.lake.lake import LakeMoved
from headrace.lake.manifest import LakeRecord, packed, unpacked

TABLES = "tables"
CATALOGUE = f"{TABLES}/catalogue"

VERSION: Final = 3
"""The version of the tables. A rollup rebuilds days that an earlier version built."""

NOTHING: Final = ""
"""The digest for a day that carries no events over."""


class DayBuild(LakeRecord, frozen=True):
    """One build of the tables of one day.

    `before` is a digest of the events carried over from the previous day. `after` is a digest of
    the events carried over to the next day. Events are added to a day but never removed, so a new
    number of events shows that the day has changed.
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
            # A rollup committed a newer catalogue, and sweep deleted the catalogue in `path`.
            continue
    return Catalogue()


def commit(files: Files, base: Catalogue, built: Iterable[DayBuild]) -> Catalogue:
    """Commit new builds of some days. Raises LakeMoved if another rollup committed first."""
    made = Catalogue(number=base.number + 1, days=_with(base, built))
    if not files.create(_path(made.number), packed(made)):
        raise LakeMoved(
            f"another rollup of the lake in {files} committed first, so nothing was committed; "
            "run the rollup again"
        )
    return made


def new_build() -> str:
    """Return a unique name for a build."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def folder_of(table: str, build: str) -> str:
    """Return the folder of a build of a table. The folder has a subfolder for each day."""
    return f"{TABLES}/{table}/build={build}"


def fresh(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[DayBuild]:
    """Return the builds of the days before the first stale day (a day that must be rebuilt).

    `events` has the number of events of each day.
    """
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
    """Return the days to build together: the first stale day, and the next days with new events.

    The list ends before the first day without new events. That day becomes stale if the new builds
    change the events that are carried into that day.
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
    """Remove builds that were replaced more than `grace` seconds ago, and files of dead rollups."""
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
