"""Whether the lake counts what the server counts: statistics of each queue and day, and books."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.client.client import Client
from headrace.engine.check import EPOCH
from headrace.engine.statistics import Series, merged
from headrace.lake.lake import Lake
from headrace.operations.daily_totals import DailyTotals, tally
from headrace.operations.queues import all_queues
from headrace.spark.coverage import Coverage, coverage_of
from headrace.spark.hot import Look, look
from headrace.spark.options import Server
from headrace.spark.tables.daily import ALL, COUNTS
from headrace.spark.tables.series import SERIES
from headrace.transport.drive import drive

PRECISION = 1e-9
# How far the server's own sum of squares may be off, next to the square of the mean.
_NOISE = 1e-13
_DAY = dt.timedelta(days=1)

Days = dict[dt.date, list[DailyTotals]]


@dataclass(slots=True)
class Comparison:
    """What was compared. differences: where lake and server disagree; left_out: what could not be
    compared, and why.
    """

    queues: int = 0
    days: int = 0
    values: int = 0
    differences: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether no difference was found."""
        return not self.differences

    def check(
        self, what: str, of_lake: float, of_server: float, tolerance: float | None = None
    ) -> None:
        """Compares two figures, exactly if no tolerance is given."""
        self.values += 1
        if tolerance is None:
            same = of_lake == of_server
        else:
            same = math.isclose(of_lake, of_server, rel_tol=PRECISION, abs_tol=tolerance)
        if not same:
            self.differences.append(
                f"{what} is {of_lake!r} in the lake, {of_server!r} on the server"
            )


@dataclass(frozen=True, slots=True)
class _Server:
    """What the server says at one moment, up to the event of a number on each shard."""

    today: dt.date
    settings: Mapping[str, Mapping[str, Any]]
    tallies: Mapping[str, Days]
    numbers: Mapping[tuple[int, str], int]

    def oldest(self, queue: str, setting: str) -> dt.date:
        """The oldest day of which the server is sure to have what it keeps for so long."""
        return self.today - dt.timedelta(days=self.settings[queue][setting] // _DAY.total_seconds())


@dataclass(frozen=True, slots=True)
class _Lake:
    """What the lake says, with the events that only the server has."""

    rows: Mapping[str, Mapping[dt.date, Mapping[str, Any]]]
    first_minutes: Mapping[str, int]
    coverage: Coverage


def compare(
    spark: SparkSession, lake: Lake, server: Server, client: Client | None = None
) -> Comparison:
    """Compares what lake and server say of each queue and day, to the last event.

    A client may be given that has scripts of its own; it must be one of this server.
    """
    server = server.settled()
    with nullcontext(client) if client is not None else server.open() as asking:
        of_server = _ask(asking)
    with look(spark, lake, server) as now:
        of_lake = _read(now.computing_from(of_server.today), of_server)
    return _compared(of_lake, of_server)


# what the server says


def _ask(client: Client) -> _Server:
    core = client.core
    names = drive(core.transport, all_queues(core))
    settings = {name: client.queue(name).settings() for name in names}
    tallies: dict[str, Days] = {name: defaultdict(list) for name in names}
    numbers: dict[tuple[int, str], int] = {}
    today = EPOCH
    for shard in range(core.shards):
        for name, found in drive(core.transport, tally(core, shard, names)).items():
            today = EPOCH + found.day * _DAY
            tallies[name][today].append(found)
            numbers[shard, name] = found.number
    longest = max((int(float(str(each["stats_age"]))) for each in settings.values()), default=0)
    for back in range(1, longest // 86_400 + 1):
        day = today - back * _DAY
        for shard in range(core.shards):
            found_then = drive(core.transport, tally(core, shard, names, (day - EPOCH).days))
            for name, found in found_then.items():
                tallies[name][day].append(found)
    return _Server(today, settings, tallies, numbers)


# what the lake says


def _read(now: Look, of_server: _Server) -> _Lake:
    daily, minutes = now.stored("daily"), now.stored("throughput")
    if now.later:
        told = now.told()
        told = replace(told, events=_counted(now.spark, told.events, of_server))
        daily = daily.unionByName(told.table("daily"))
        minutes = minutes.unionByName(told.table("throughput"))
    rows: dict[str, dict[dt.date, Mapping[str, Any]]] = defaultdict(dict)
    sketches = [f"{name}_sketch" for name in SERIES]
    for row in daily.where(F.col("by") == ALL).drop(*sketches).collect():
        rows[row["queue"]][row["day"]] = row.asDict()
    firsts = minutes.groupBy("queue").agg(F.min(F.unix_millis("minute")).alias("first"))
    return _Lake(
        rows,
        {row["queue"]: row["first"] for row in firsts.collect()},
        coverage_of([row.asDict() for row in now.table("spans").collect()]),
    )


def _counted(spark: SparkSession, events: DataFrame, of_server: _Server) -> DataFrame:
    """The events that the server had counted when it was asked."""
    known = [(shard, queue, number) for (shard, queue), number in of_server.numbers.items()]
    upto = spark.createDataFrame(known, "of_shard bigint, of_queue string, upto bigint")
    is_counted = (
        (F.col("shard") == F.col("of_shard"))
        & (F.col("queue") == F.col("of_queue"))
        & (F.col("number") <= F.col("upto"))
    )
    return events.join(F.broadcast(upto), is_counted, "left_semi")


# both


def _compared(of_lake: _Lake, of_server: _Server) -> Comparison:
    found = Comparison(queues=len(of_server.tallies))
    found.differences += of_lake.coverage.holes
    compared: set[dt.date] = set()
    for queue in sorted(of_server.tallies):
        since = _made_anew(queue, of_lake, of_server)
        if since is not None:
            found.left_out.append(
                f"queue {queue!r} was deleted and made anew on {since}: its books, and its days up "
                "to then, are not compared"
            )
        compared |= _compare_days(found, queue, since, of_lake, of_server)
        if since is None and of_lake.coverage.is_whole:
            _compare_books(found, queue, of_lake, of_server)
    found.days = len(compared)
    if not compared:
        found.left_out.append("the days: of none lake and server both have statistics")
    _tell_left_out(found, of_lake, of_server)
    return found


def _made_anew(queue: str, of_lake: _Lake, of_server: _Server) -> dt.date | None:
    """The day on which a queue was made anew, if the lake knows it from before."""
    tallies = of_server.tallies[queue][of_server.today]
    made = min((each.created_ms for each in tallies if each.created_ms), default=None)
    first = of_lake.first_minutes.get(queue)
    if made is None or first is None or first >= made // 60_000 * 60_000:
        return None
    return EPOCH + made // 86_400_000 * _DAY


def _compare_days(
    found: Comparison,
    queue: str,
    since: dt.date | None,
    of_lake: _Lake,
    of_server: _Server,
) -> set[dt.date]:
    if not of_server.settings[queue]["stats"]:
        found.left_out.append(f"queue {queue!r}: its statistics are switched off")
        return set()
    rows = of_lake.rows.get(queue, {})
    days = of_server.tallies[queue]
    compared = set()
    for day in sorted(days):
        if any(each.imported for each in days[day]):
            found.left_out.append(f"queue {queue!r}, {day}: some of its figures were imported")
            continue
        has_figures = day in rows or any(map(_has_figures, days[day]))
        is_kept = day >= of_server.oldest(queue, "stats_age") or any(map(_has_figures, days[day]))
        is_known = day not in of_lake.coverage.gaps and (since is None or day > since)
        if has_figures and is_kept and is_known:
            has_bins = day >= of_server.oldest(queue, "histogram_age")
            what = f"queue {queue!r}, {day}"
            _compare_day(found, what, rows.get(day, {}), days[day], has_bins=has_bins)
            compared.add(day)
    return compared


def _has_figures(found: DailyTotals) -> bool:
    return bool(found.wait.count or found.run.count or found.failures or found.retries)


def _compare_day(
    found: Comparison,
    what: str,
    row: Mapping[str, Any],
    tallies: Sequence[DailyTotals],
    *,
    has_bins: bool,
) -> None:
    for name in ("failures", "retries"):
        told = sum(getattr(each, name) for each in tallies)
        found.check(f"{what}: the number of {name}", row.get(name, 0), told)
    for name in SERIES:
        series = merged(getattr(each, name) for each in tallies)
        _compare_series(found, f"{what}, {name} time", _series(row, name), series)
        if has_bins:
            _compare_bins(found, f"{what}, {name} time", _series(row, name), series)


def _series(row: Mapping[str, Any], name: str) -> Series:
    parts = [row.get(f"{name}_{part}") for part in ("count", "mean", "variance", "histogram")]
    count, mean, variance, bins = parts
    return Series(count or 0, mean or 0.0, variance or 0.0, bins or {})


def _compare_series(found: Comparison, what: str, of_lake: Series, of_server: Series) -> None:
    found.check(f"{what}: the count", of_lake.count, of_server.count)
    found.check(f"{what}: the mean", of_lake.mean, of_server.mean, tolerance=0.0)
    noise = _NOISE * of_server.mean**2
    found.check(f"{what}: the variance", of_lake.variance, of_server.variance, tolerance=noise)


def _compare_bins(found: Comparison, what: str, of_lake: Series, of_server: Series) -> None:
    for name in sorted({*of_lake.bins, *of_server.bins}):
        in_bin = of_lake.bins.get(name, 0), of_server.bins.get(name, 0)
        found.check(f"{what}: the number in bin {name}", *in_bin)


def _compare_books(found: Comparison, queue: str, of_lake: _Lake, of_server: _Server) -> None:
    rows = of_lake.rows.get(queue, {}).values()
    total = {name: sum(row[name] for row in rows) for name in COUNTS}
    books: dict[str, int] = defaultdict(int)
    for each in of_server.tallies[queue][of_server.today]:
        for name, value in each.books.items():
            books[name] += value
    for name in ("put", "cancelled", "expired"):
        found.check(f"queue {queue!r}, books: the number {name}", total[name], books[name])
    # A complete job that is put again has moved, unless it was no longer kept: the log cannot tell.
    over = total["completed"] + total["taken"]
    what = f"queue {queue!r}, books: the number complete or moved"
    found.check(what, over, books["complete"] + books["moved"])


def _tell_left_out(found: Comparison, of_lake: _Lake, of_server: _Server) -> None:
    gone = sorted(set(of_lake.rows) - set(of_server.tallies))
    found.left_out += [f"queue {queue!r} is no longer on the server" for queue in gone]
    coverage = of_lake.coverage
    found.left_out += [f"{day}: {about}" for day, about in sorted(coverage.gaps.items())]
    if not coverage.is_whole:
        found.left_out.append("the books: not all of the history is there")
