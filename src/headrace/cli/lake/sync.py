"""`lake sync`: events into the lake, once or again and again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lake.place import DEFAULT, To, files_at, needs_spark
from headrace.cli.lake.starting import spark_session, stopped_by_signals
from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url, seconds
from headrace.cli.show import AsJson, as_line
from headrace.cli.words import counted, size, span
from headrace.errors import HeadraceError, ServerUnavailable

if TYPE_CHECKING:
    from headrace.spark.pipeline import SyncedBatch

# How long a server that is away is left alone: at first, and after many tries.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


def sync(
    *,
    to: To = DEFAULT,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        str, typer.Option(metavar="SPAN", help="How often, when following.")
    ] = "5s",
    batch: Annotated[int, typer.Option(min=1, help="Up to so many events in a commit.")] = 500_000,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Bring events into the lake, each exactly once; it goes on where it ended, however it ended.

    With --json one object at the end, and with --follow one for each commit.
    """
    pause = seconds(interval)
    _check(to, url, namespace)
    with spark_session() as spark, stopped_by_signals() as stopping:
        from headrace.spark import pipeline  # noqa: PLC0415 - pyspark takes long to load
        from headrace.spark.options import ServerOptions  # noqa: PLC0415

        server = ServerOptions(url=url or "", namespace=namespace)
        files = files_at(to, spark)
        if follow:
            following = partial(
                pipeline.follow,
                spark,
                server,
                files,
                stopping=stopping,
                interval=pause,
                batch=batch,
            )
            made = lasting(following, stopping)
        else:
            made = pipeline.sync(spark, server, files, batch=batch)
        total = Total(str(files))
        with _shown(follow=follow, as_json=as_json) as show:
            for done in made:
                total.add(done)
                show(done)
                if stopping.is_set():
                    break
    _sum_up(total, follow=follow, as_json=as_json)


def _check(to: str, url: str | None, namespace: str) -> None:
    """Raises what can be known before Spark is started, which takes a while."""
    with opened(url, namespace) as client:
        if not needs_spark(to):
            from headrace.lake.opening import open_lake  # noqa: PLC0415 - msgspec is not cheap

            open_lake(files_at(to), client)


def lasting(
    following: Callable[[], Iterator[SyncedBatch]], stopping: threading.Event
) -> Iterator[SyncedBatch]:
    """What is brought, also after the server was away for a while."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - of an extra

    from headrace.spark.error_summary import error_summary, is_caused_by  # noqa: PLC0415

    pause = FIRST_PAUSE
    while not stopping.is_set():
        try:
            for done in following():
                pause = FIRST_PAUSE
                yield done
        except (HeadraceError, PySparkException) as error:
            if not is_caused_by(error, ServerUnavailable):
                raise
            if not stopping.is_set():
                typer.echo(
                    f"headrace: {error_summary(error)}; trying again in {span(pause)}", err=True
                )
            stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


@dataclass(slots=True)
class Total:
    """What a run has brought."""

    lake: str
    batches: int = 0
    events: int = 0
    missing: int = 0
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    behind: int = 0

    def add(self, batch: SyncedBatch) -> None:
        self.batches += 1
        self.events += batch.events
        self.missing += batch.missing
        self.files += batch.files
        self.bytes += batch.bytes
        self.seconds += batch.seconds
        self.behind = batch.behind


def _sum_up(total: Total, *, follow: bool, as_json: bool) -> None:
    if total.missing:
        typer.echo(
            f"headrace: {counted(total.missing, 'event')} had been dropped before the lake could "
            "take them; rows of kind 'gap' stand for them. Sync more often, or raise events_cap",
            err=True,
        )
    if as_json:
        if not follow:
            typer.echo(as_line(asdict(total)))
    elif not total.batches:
        typer.echo(f"Nothing new; the lake is in {total.lake}.")
    else:
        rest = f"; {counted(total.behind, 'event')} behind" if total.behind else ""
        typer.echo(
            f"{counted(total.events, 'event')} in {counted(total.files, 'file')} "
            f"({size(total.bytes)}), {_rate(total.events, total.seconds)}, into {total.lake}{rest}"
        )


def _rate(events: int, took: float) -> str:
    return f"{span(took)}, {events / max(took, 0.001):,.0f} events/s"


@contextmanager
def _shown(*, follow: bool, as_json: bool) -> Iterator[Callable[[SyncedBatch], None]]:
    """How each batch is shown as it comes."""
    if follow:
        yield _print_json if as_json else _print_line
    elif sys.stderr.isatty() and not as_json:
        from headrace.cli.screen import progress  # noqa: PLC0415 - rich takes long to load

        with progress() as bar:
            task = bar.add_task("events", total=None)

            def show(batch: SyncedBatch) -> None:
                done = bar.tasks[0].completed + batch.events
                rate = batch.events / max(batch.seconds, 0.001)
                about = f"{rate:,.0f} events/s"
                bar.update(task, completed=done, total=done + batch.behind, description=about)

            yield show
    else:
        yield lambda _batch: None


def _print_json(batch: SyncedBatch) -> None:
    typer.echo(as_line(asdict(batch)))


def _print_line(batch: SyncedBatch) -> None:
    at = time.strftime("%H:%M:%S")
    behind = f", {batch.behind:,} behind" if batch.behind else ""
    missing = f", {batch.missing:,} missing" if batch.missing else ""
    typer.echo(
        f"{at}  {_rate(batch.events, batch.seconds)}: {batch.events:,} more{missing}{behind}"
    )
