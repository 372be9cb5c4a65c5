"""The `headrace` command. A command lives in a module of its own and is listed here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer
from typer.main import get_command

from headrace.cli import (
    audit,
    cancel,
    events,
    failures,
    importing,
    job,
    jobs,
    metrics,
    put,
    queues,
    schedules,
    server,
    settings,
    stats,
    sweep,
    work,
    workers,
)
from headrace.cli.demo.command import demo
from headrace.cli.doctor.command import doctor
from headrace.cli.lake.command import lake
from headrace.cli.top.command import top
from headrace.errors import HeadraceError, InvalidArgument

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

# Each command with an example.
PANELS: dict[str, dict[Callable[..., None], str]] = {
    "Look": {
        top: "headrace top",
        queues.queues: "headrace queues",
        jobs.peek: "headrace peek mail --count 3",
        jobs.jobs: "headrace jobs mail --state failed",
        job.job: "headrace job ada",
        job.why: "headrace why ada",
        job.result: "headrace result ada --wait 10",
        failures.failures: "headrace failures smtp",
        workers.workers: "headrace workers",
        schedules.schedules: "headrace schedules",
        jobs.tags: "headrace tags vip",
        stats.stats: "headrace stats mail 2026-11-15",
        events.events: "headrace events --follow --queue mail",
        audit.audit: "headrace audit",
        metrics.metrics: "headrace metrics --port 9464 -n shop",
    },
    "Operate": {
        put.put: 'headrace put mail \'{"to": "ada"}\' --priority -1 --tag vip',
        failures.retry: "headrace retry --failure smtp --queue mail --all",
        cancel.cancel: "headrace cancel --queue mail --state waiting --dry-run",
        queues.pause: "headrace pause mail",
        queues.resume: "headrace resume mail",
        workers.release: "headrace release ada --back",
        workers.timeout: "headrace timeout ada grace",
        sweep.sweep: "headrace sweep",
        settings.configure: "headrace configure mail concurrency=10 lease=5m",
        settings.config: "headrace config retries=3",
        importing.import_: "headrace import worqr redis://localhost:6379/0 -n shop",
    },
    "Run": {
        work.work: "headrace work shop.tasks:app -q mail,default --processes 2",
        demo: "headrace demo",
    },
    "Server": {
        doctor: "headrace doctor --strict",
        server.up: "headrace up",
        server.down: "headrace down",
    },
}

for panel, commands in PANELS.items():
    for command, example in commands.items():
        name = command.__name__.rstrip("_")
        app.command(name, rich_help_panel=panel, epilog=f"Example: {example}")(command)
app.add_typer(lake, name="lake", rich_help_panel="History")


def _print_version(wanted: bool) -> None:  # noqa: FBT001  Typer hands it over by position
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  only here, and not cheap

        typer.echo(version("headrace"))
        raise typer.Exit


@app.callback()
def headrace(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A reliable, atomic, distributed work queue on Redis or Valkey."""


@cache
def built() -> Callable[..., object]:
    """The commands, which take a while to build."""
    return get_command(app)


def main() -> None:
    """Run the command line; what Headrace refuses is one line, and exit code 1, or 2 if what was
    typed makes no sense.
    """
    try:
        built()(prog_name="headrace")
    except HeadraceError as error:
        lines = (line.strip() for line in str(error).splitlines())
        typer.echo(f"headrace: {' | '.join(filter(None, lines))}", err=True)
        sys.exit(2 if isinstance(error, InvalidArgument) else 1)
    except OSError as error:
        # A place that cannot be written to or read: what to do about it, the system says.
        typer.echo(f"headrace: {error}", err=True)
        sys.exit(1)
