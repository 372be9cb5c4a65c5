"""`lake sync`: copy events into the lake, once or continuously."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import click
from pyspark.errors import PySparkException

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import needs_spark, stopped_by_signals, target_option, until_stopped
from headrace.cli.lake.spark_session import files_at, spark_server, spark_session
from headrace.cli.output import counted, print_json, progress, say, size, span, wants_json, warn
from headrace.errors import HeadraceError, ServerUnavailable
from headrace.lake.files import LocalFiles
from headrace.lake.lake import open_lake
from headrace.retry_pause import RetryPause
from headrace.spark import pipeline
from headrace.spark.error_summary import error_summary, is_caused_by
from headrace.spark.pipeline import SyncedBatch

# The first and the longest pause between attempts to reach the server, in seconds.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


@options.command("lake sync --to /data/lake --follow")
@target_option
@click.option("--follow", "-f", is_flag=True, help="Continue with new events until Ctrl-C.")
@options.duration(
    "--interval", default="5s", help="With --follow: time between two commits; default: 5s."
)
@options.number("--batch", default=500_000, help="Commit at most this many events at once.")
def sync(lake: str, follow: bool, interval: float, batch: int, server: ServerOptions) -> None:
    """Copy new events into the lake, each exactly once.

    After an interruption, the next sync continues where the last sync stopped. --json prints one
    object at the end. With --follow, --json prints one object for each commit.
    """
    _check(lake, server)
    with spark_session() as spark, stopped_by_signals() as stopping:
        source, files = spark_server(server), files_at(lake, spark)
        if follow:
            following = partial(pipeline.follow, spark, source, files, stopping=stopping)
            batches = with_retries(partial(following, interval=interval, batch=batch), stopping)
        else:
            batches = pipeline.sync(spark, source, files, batch=batch)
        total = SyncTotal(str(files))
        with _display(follow=follow) as show:
            for done in until_stopped(batches, stopping):
                total.add(done)
                show(done)
    _report(total, follow=follow)


def _check(lake: str, server: ServerOptions) -> None:
    """Check the server and a local lake first, because Spark takes seconds to start."""
    with open_client(server) as client:
        if not needs_spark(lake):
            open_lake(LocalFiles(lake), client)


def with_retries(
    following: Callable[[], Iterator[SyncedBatch]], stopping: threading.Event
) -> Iterator[SyncedBatch]:
    """Yield the batches of a sync. If the server is unavailable, wait and restart the sync."""
    retry_pause = RetryPause(FIRST_PAUSE, LONGEST_PAUSE)
    while not stopping.is_set():
        try:
            for done in following():
                retry_pause.reset()
                yield done
        except (HeadraceError, PySparkException) as error:
            if not is_caused_by(error, ServerUnavailable):
                raise
            pause = retry_pause.next_pause()
            if not stopping.is_set():
                warn(f"{error_summary(error)}; retrying in {span(pause)}")
            stopping.wait(pause)


@dataclass(slots=True)
class SyncTotal:
    """The totals of all batches of a sync."""

    lake: str
    batches: int = 0
    events: int = 0
    missing: int = 0
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    behind: int = 0

    def add(self, batch: SyncedBatch) -> None:
        """Add a batch."""
        self.batches += 1
        for name in ("events", "missing", "files", "bytes", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(batch, name))
        self.behind = batch.behind


def _report(total: SyncTotal, *, follow: bool) -> None:
    if total.missing:
        warn(
            f"{counted(total.missing, 'event')} had been dropped before this sync; rows of kind "
            "'gap' mark the missing events. Sync more often, or raise the setting events_cap"
        )
    if wants_json():
        if not follow:
            print_json(total)
    elif not total.batches:
        say(f"Nothing new; the lake is in {total.lake}.")
    else:
        rest = f"; {counted(total.behind, 'event')} behind" if total.behind else ""
        say(
            f"{counted(total.events, 'event')} in {counted(total.files, 'file')} "
            f"({size(total.bytes)}), {_rate(total.events, total.seconds)}, into {total.lake}{rest}"
        )


def _rate(events: int, took: float) -> str:
    return f"{span(took)}, {events / max(took, 0.001):,.0f} events/s"


@contextmanager
def _display(*, follow: bool) -> Iterator[Callable[[SyncedBatch], object]]:
    """Yield the function that shows a batch: as a line, JSON, a progress bar or not at all."""
    if follow:
        yield print_json if wants_json() else _print_line
    elif sys.stderr.isatty() and not wants_json():
        with progress("events", None) as advance:
            yield lambda batch: advance(batch.events)
    else:
        yield lambda _batch: None


def _print_line(batch: SyncedBatch) -> None:
    at = time.strftime("%H:%M:%S")
    behind = f", {batch.behind:,} behind" if batch.behind else ""
    missing = f", {batch.missing:,} missing" if batch.missing else ""
    say(f"{at}  {_rate(batch.events, batch.seconds)}: {batch.events:,} more{missing}{behind}")
