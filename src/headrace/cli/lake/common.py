"""Options and helpers that the lake commands share. Importing this module does not load PySpark."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import click

from headrace import Client, LakeShard
from headrace.cli import options
from headrace.cli.bulk_changes import handled
from headrace.cli.connecting import HERE
from headrace.cli.output import counted, say
from headrace.lake.files import Files, LocalFiles

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

# The server keeps a limited number of events for each shard. Warn if the number of events that a
# lake has not copied yet exceeds this share of the limit.
LARGE_LAG = 0.5


def _not_empty(_ctx: click.Context, _param: click.Parameter, place: str) -> str:
    if not place.strip():
        raise click.BadParameter("the path is empty; pass a directory or a Spark path")
    return place


def _lake_option(*names: str) -> Callable[[F], F]:
    return click.option(
        *names,
        "lake",
        metavar="DIR",
        default=str(HERE / "lake"),
        callback=_not_empty,
        help="The lake: a directory, or a path that Spark can read (hdfs://, s3a://); "
        "default: .headrace/lake.",
    )


lake_option = _lake_option("--lake")
target_option = _lake_option("--to", "--lake")
grace_option = options.duration(
    "--grace", default="1h", help="Keep replaced files this long for running queries; default: 1h."
)


def needs_spark(place: str) -> bool:
    """Return whether Spark is needed to read this path."""
    return "://" in place


@contextmanager
def open_files(place: str) -> Iterator[Files]:
    """Open the files of a lake. Start Spark only for a path such as hdfs:// or s3a://."""
    if not needs_spark(place):
        yield LocalFiles(place)
        return
    from headrace.cli.lake.spark_session import files_at, spark_session  # noqa: PLC0415 - an extra

    with spark_session() as spark:
        yield files_at(place, spark)


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Yield a threading.Event that Ctrl-C or SIGTERM sets.

    A second signal raises KeyboardInterrupt.
    """
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        say("stopping after the current batch; press Ctrl-C again to stop now", err=True)

    with handled(stop, signal.SIGINT, signal.SIGTERM):
        yield stopping


def until_stopped(steps: Iterable[T], stopping: threading.Event) -> Iterator[T]:
    """Yield the steps of a long run. Once the event is set, stop after the current step."""
    for step in steps:
        yield step
        if stopping.is_set():
            return


def lag_warnings(client: Client, rows: Sequence[LakeShard]) -> list[str]:
    """Return a warning for each lagging lake, and for each shard that deleted uncopied events.

    A lake lags if it has not yet copied many events of a shard's log. The server deletes old
    events, even if a lagging lake has not copied them yet.
    """
    kept = int(client.config.get("events_count"))
    most = max(kept, int(client.config.get("events_cap")))
    found = []
    for row in rows:
        where = f"lake {row.lake} is {counted(row.behind, 'event')} behind on shard {row.shard}"
        if row.behind > LARGE_LAG * most:
            limit = f"the server keeps at most {most:,} events for a lake"
            found.append(f"{where}: {limit}; run headrace lake sync")
        elif row.behind > kept:
            found.append(f"{where}, more than events_count: run headrace lake sync or lake forget")
    dropped = {row.shard: row.dropped for row in rows if row.dropped}
    found += [
        f"the server deleted {counted(many, 'event')} of shard {shard} that a lake had not copied"
        for shard, many in dropped.items()
    ]
    return found
