"""Check that the lake and the server have the same figures.

The figures are the statistics of each queue and day, and the counters (books) of each queue.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.client.client import Client
from headrace.engine.check import EPOCH
from headrace.engine.statistics import Series, Stats
from headrace.lake.lake import Lake
from headrace.operations.daily_totals import DailyTotals, daily_totals, merged_stats
from headrace.operations.queues import all_queues
from headrace.spark.options import ServerAddress
from headrace.spark.query import HistoryView, open_history
from headrace.spark.tables.daily import ALL, COUNTS
from headrace.spark.tables.duration_stats import SERIES
from headrace.transport.drive import drive

PRECISION = 1e-9
# The rounding error of the server's sum of squares, relative to the square of the mean.
_NOISE = 1e-13
_DAY = dt.timedelta(days=1)

TableRow = Mapping[str, Any]


@dataclass(slots=True)
class Comparison:
    """The result of comparing a lake with its server.

    `differences` describes where lake and server disagree. `left_out` describes what could not be
    compared, and why.
    """

    queues: int = 0
    days: int = 0
    values: int = 0
    differences: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether lake and server agree in all compared figures."""
        return not self.differences

    def check(
        self, what: str, of_lake: float, of_server: float, tolerance: float | None = None
    ) -> None:
        """Compare two figures. Without a tolerance, the figures must be equal."""
        self.values += 1
        relative = 0.0 if tolerance is None else PRECISION
        if not math.isclose(of_lake, of_server, rel_tol=relative, abs_tol=tolerance or 0.0):
            self.differences.append(
                f"{what} is {of_lake!r} in the lake and {of_server!r} on the server"
            )


@dataclass(frozen=True, slots=True)
class _ServerFigures:
    """The figures of the server by queue; `totals` has the totals of today on each shard."""

    today: dt.date
    settings: Mapping[str, Mapping[str, Any]]
    totals: Mapping[str, Sequence[DailyTotals]]
    stats: Mapping[str, Mapping[dt.date, Stats]]

    def oldest(self, queue: str, setting: str) -> dt.date:
        """Return the oldest day that the server keeps under a setting such as `stats_age`."""
        return self.today - dt.timedelta(days=self.settings[queue][setting] // _DAY.total_seconds())


@dataclass(frozen=True, slots=True)
class _LakeFigures:
    """The figures of the lake, including events that are not yet synced from the server."""

    rows: Mapping[str, Mapping[dt.date, Mapping[str, Any]]]
    first_minutes: Mapping[str, int]
    coverage: Coverage


def compare(
    spark: SparkSession, lake: Lake, server: ServerAddress, client: Client | None = None
) -> Comparison:
    """Compare the figures of lake and server for each queue and day.

    The figures of the lake also include newer events from the server's log, up to the last event
    that the server's figures include.

    The function uses `client`, or opens a new connection if `client` is None. The client must be
    connected to `server`.

        comparison = compare(spark, lake, ServerAddress())
        assert comparison.equal, comparison.differences
    """
    server = server.settled()
    with nullcontext(client) if client is not None else server.open() as connected:
        of_server = _read_server(connected)
    with open_history(spark, lake, server) as history:
        of_lake = _read_lake(history.computing_from(of_server.today), of_server)
    return _compared(of_lake, of_server)


# The server


def _read_server(client: Client) -> _ServerFigures:
    core = client.core
    names = drive(core.transport, all_queues(core))
    settings = {name: client.queue(name).settings() for name in names}
    totals = drive(core.transport, daily_totals(core, names))
    today = EPOCH + max((each.day for found in totals.values() for each in found), default=0) * _DAY
    stats: dict[str, dict[dt.date, Stats]] = {name: {} for name in names}
    longest = max((int(float(str(each["stats_age"]))) for each in settings.values()), default=0)
    for back in range(longest // 86_400 + 1):
        day = today - back * _DAY
        # Use the same totals for the books and for the statistics of today.
        of_day = (
            drive(core.transport, daily_totals(core, names, (day - EPOCH).days)) if back else totals
        )
        for name, found in of_day.items():
            stats[name][day] = merged_stats(name, found, failed=0)
    return _ServerFigures(today, settings, totals, stats)


# The lake


def _read_lake(history: HistoryView, of_server: _ServerFigures) -> _LakeFigures:
    daily, minutes = history.stored("daily"), history.stored("throughput")
    if history.later:
        tables = history.later_tables()
        tables = replace(tables, events=_counted(history.spark, tables.events, of_server))
        daily = daily.unionByName(tables.table("daily"))
        minutes = minutes.unionByName(tables.table("throughput"))
    rows: dict[str, dict[dt.date, Mapping[str, Any]]] = defaultdict(dict)
    sketches = [f"{name}_sketch" for name in SERIES]
    for row in daily.where(F.col("by") == ALL).drop(*sketches).collect():
        rows[row["queue"]][row["day"]] = row.asDict()
    firsts = minutes.groupBy("queue").agg(F.min(F.unix_millis("minute")).alias("first"))
    return _LakeFigures(
        rows,
        {row["queue"]: row["first"] for row in firsts.collect()},
        coverage_of([row.asDict() for row in history.table("log_coverage").collect()]),
    )


def _counted(spark: SparkSession, events: DataFrame, of_server: _ServerFigures) -> DataFrame:
    """Return the events that the server's figures include."""
    known = [
        (shard, queue, each.number)
        for queue, totals in of_server.totals.items()
        for shard, each in enumerate(totals)
    ]
    upto = spark.createDataFrame(known, "of_shard bigint, of_queue string, upto bigint")
    is_counted = (
        (F.col("shard") == F.col("of_shard"))
        & (F.col("queue") == F.col("of_queue"))
        & (F.col("number") <= F.col("upto"))
    )
    return events.join(F.broadcast(upto), is_counted, "left_semi")


# Coverage


@dataclass(slots=True)
class Coverage:
    """Whether the history is complete, and which events are missing.

    `gaps` has the days with missing events, each with a description. `holes` describes events that
    are missing without a gap row: neither the lake nor the server has them.
    """

    is_whole: bool = True
    gaps: dict[dt.date, str] = field(default_factory=dict)
    holes: list[str] = field(default_factory=list)

    def add_gap(self, first: dt.date, last: dt.date, description: str) -> None:
        """Record that events are missing on at least one of these days."""
        self.is_whole = False
        for number in range(first.toordinal(), last.toordinal() + 1):
            self.gaps.setdefault(dt.date.fromordinal(number), description)


def coverage_of(rows: Iterable[TableRow]) -> Coverage:
    """Return the coverage from rows of the table `log_coverage`."""
    by_shard: dict[int, list[TableRow]] = defaultdict(list)
    for row in rows:
        by_shard[row["shard"]].append(row)
    found = Coverage()
    for shard in sorted(by_shard):
        _cover(found, shard, sorted(by_shard[shard], key=lambda row: (row["day"], row["first"])))
    return found


def _cover(found: Coverage, shard: int, rows: list[TableRow]) -> None:
    before: TableRow | None = None
    for row in rows:
        since = before["day"] if before else row["day"]
        if row["missing"]:
            description = f"{row['missing']:,} events of shard {shard} were trimmed before a sync"
            found.add_gap(since, row["day"], description)
        if before is None and row["first"] > 1:
            description = f"the history of shard {shard} starts with event {row['first']:,}"
            found.add_gap(row["day"], row["day"], description)
        before = row
    first, last = min(row["first"] for row in rows), max(row["last"] for row in rows)
    lost = last - first + 1 - sum(row["events"] + row["missing"] for row in rows)
    if lost:
        found.holes.append(_hole(shard, rows, lost))


def _hole(shard: int, rows: list[TableRow], lost: int) -> str:
    if lost < 0:
        return f"shard {shard}: {-lost:,} events exist more than once"
    sizes = ((row["day"], row["last"] - row["first"] + 1, row) for row in rows)
    short = (day for day, size, row in sizes if size > row["events"] + row["missing"])
    where = next((f" of {day}" for day in short), "")
    return f"shard {shard}{where}: {lost:,} events are neither in the lake nor on the server"


# The comparison


def _compared(of_lake: _LakeFigures, of_server: _ServerFigures) -> Comparison:
    found = Comparison(queues=len(of_server.totals))
    found.differences += of_lake.coverage.holes
    compared: set[dt.date] = set()
    for queue in sorted(of_server.totals):
        since = _recreated(queue, of_lake, of_server)
        if since is not None:
            found.left_out.append(
                f"queue {queue!r} was deleted and created again on {since}: its books, and its "
                "statistics up to that day, are not compared"
            )
        compared |= _compare_days(found, queue, since, of_lake, of_server)
        if since is None and of_lake.coverage.is_whole:
            _compare_books(found, queue, of_lake, of_server)
    found.days = len(compared)
    if not compared:
        found.left_out.append("the days: no day has statistics both in the lake and on the server")
    gone = sorted(set(of_lake.rows) - set(of_server.totals))
    found.left_out += [f"queue {queue!r} is no longer on the server" for queue in gone]
    coverage = of_lake.coverage
    found.left_out += [f"{day}: {about}" for day, about in sorted(coverage.gaps.items())]
    if not coverage.is_whole:
        found.left_out.append("the books: the history is not complete")
    return found


def _recreated(queue: str, of_lake: _LakeFigures, of_server: _ServerFigures) -> dt.date | None:
    """Return the day on which a queue was recreated, or None if the queue was created only once."""
    totals = of_server.totals[queue]
    made = min((each.created_ms for each in totals if each.created_ms), default=None)
    first = of_lake.first_minutes.get(queue)
    if made is None or first is None or first >= made // 60_000 * 60_000:
        return None
    return EPOCH + made // 86_400_000 * _DAY


def _compare_days(
    found: Comparison,
    queue: str,
    since: dt.date | None,
    of_lake: _LakeFigures,
    of_server: _ServerFigures,
) -> set[dt.date]:
    if not of_server.settings[queue]["stats"]:
        found.left_out.append(f"queue {queue!r}: its statistics are disabled")
        return set()
    rows = of_lake.rows.get(queue, {})
    compared = set()
    for day, stats in sorted(of_server.stats[queue].items()):
        is_counted = bool(stats.wait.count or stats.run.count or stats.failures or stats.retries)
        is_kept = is_counted or (day in rows and day >= of_server.oldest(queue, "stats_age"))
        is_known = day not in of_lake.coverage.gaps and (since is None or day > since)
        if is_kept and is_known:
            has_bins = day >= of_server.oldest(queue, "histogram_age")
            what = f"queue {queue!r}, {day}"
            _compare_day(found, what, rows.get(day, {}), stats, has_bins=has_bins)
            compared.add(day)
    return compared


def _compare_day(
    found: Comparison, what: str, row: Mapping[str, Any], stats: Stats, *, has_bins: bool
) -> None:
    for name in ("failures", "retries"):
        found.check(f"{what}: the number of {name}", row.get(name, 0), getattr(stats, name))
    for name in SERIES:
        figures = _series(row, name), getattr(stats, name)
        _compare_series(found, f"{what}, {name} time", *figures, has_bins=has_bins)


def _series(row: Mapping[str, Any], name: str) -> Series:
    parts = [row.get(f"{name}_{part}") for part in ("count", "mean", "variance", "histogram")]
    count, mean, variance, bins = parts
    return Series(count or 0, mean or 0.0, variance or 0.0, bins or {})


def _compare_series(
    found: Comparison, what: str, of_lake: Series, of_server: Series, *, has_bins: bool
) -> None:
    found.check(f"{what}: the count", of_lake.count, of_server.count)
    found.check(f"{what}: the mean", of_lake.mean, of_server.mean, tolerance=0.0)
    noise = _NOISE * of_server.mean**2
    found.check(f"{what}: the variance", of_lake.variance, of_server.variance, tolerance=noise)

    for name in sorted({*of_lake.bins, *of_server.bins}) if has_bins else ():
        in_bin = of_lake.bins.get(name, 0), of_server.bins.get(name, 0)
        found.check(f"{what}: the number in bin {name}", *in_bin)


def _compare_books(
    found: Comparison, queue: str, of_lake: _LakeFigures, of_server: _ServerFigures
) -> None:
    rows = of_lake.rows.get(queue, {}).values()
    total = {name: sum(row[name] for row in rows) for name in COUNTS}
    books: dict[str, int] = defaultdict(int)
    for each in of_server.totals[queue]:
        for name, value in each.books.items():
            books[name] += value
    for name in ("put", "cancelled", "expired"):
        found.check(f"queue {queue!r}, books: the number of jobs {name}", total[name], books[name])
    # If a complete job is put again, the server counts the job as moved only if the server still
    # has the complete job. The log does not show whether the server still had the job, so only the
    # sum of complete and moved jobs is compared.
    over = total["completed"] + total["taken"]
    what = f"queue {queue!r}, books: the number of jobs complete or moved"
    found.check(what, over, books["complete"] + books["moved"])
