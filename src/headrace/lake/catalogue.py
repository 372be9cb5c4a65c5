"""The catalogue: which build of each day of the tables counts. No Spark.

A day is built from its own events, and from what the day before leaves for later ones. Both are
written down, so that a day is built again only when one of them has changed.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from headrace.lake.files import Files
from headrace.lake.lake import LakeMoved
from headrace.lake.manifest import Value, packed, unpacked

TABLES = "tables"
CATALOGUE = f"{TABLES}/catalogue"

VERSION: Final = 1
"""How tables are made; what an earlier way has made is made anew."""

NOTHING: Final = ""
"""The digest of nothing that is left for later days."""

GRACE = 3600.0
"""For so many seconds builds stay that no longer count: somebody may be reading them."""


class Built(Value, frozen=True):
    """A build of a day. before and after: digests of what was left for it, and of what it leaves.

    As the events of a day only become more, their number tells whether there are new ones.
    """

    day: dt.date
    events: int
    before: str
    after: str
    build: str
    tables: tuple[str, ...]
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
    days = {each.day: each for each in (*base.days, *built)}
    made = Catalogue(number=base.number + 1, days=tuple(days[day] for day in sorted(days)))
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
    return found


def next_run(catalogue: Catalogue, events: Mapping[dt.date, int]) -> list[dt.date]:
    """Days that are to be built together: the first that must be, and those after it that have
    new events too. Whether what they leave changes the next one is seen when they are built.
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
    swept = sorted(_old_builds(files, latest, named))
    for folder in swept:
        files.delete(folder)
    return swept


def _old_builds(files: Files, latest: float, named: set[str]) -> set[str]:
    written: dict[str, float] = {}
    for found in files.list(TABLES):
        table, _, build = found.path.partition("/build=")
        if build:
            name = build.partition("/")[0]
            if name not in named:
                folder = f"{table}/build={name}"
                written[folder] = max(found.written, written.get(folder, 0))
    return {folder for folder, at in written.items() if at <= latest}


def _is_of(built: Built, events: int) -> bool:
    return built.events == events and built.version == VERSION


def _numbers(files: Files) -> Sequence[int]:
    names = (found.path.rpartition("/")[2] for found in files.list(CATALOGUE))
    return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]


def _path(number: int) -> str:
    return f"{CATALOGUE}/{number:020}.json"
