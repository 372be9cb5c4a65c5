"""The `headrace` command and the table of its subcommands.

Click imports the module of a subcommand only to run it or to show its help. The table therefore
repeats the first line of every subcommand's help; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from headrace.cli.completion_setup import install_completion, show_completion
from headrace.errors import HeadraceError, InvalidArgument, MissingExtra

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A subcommand: its name, its module under headrace.cli, its summary and an example.

    `extra` is the extra of this package that its module needs.
    """

    name: str
    module: str
    summary: str
    example: str
    extra: str = ""


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when that subcommand is used."""

    def __init__(
        self, name: str, *, sections: Mapping[str, Sequence[CommandEntry]], **options: Any
    ) -> None:
        super().__init__(name, no_args_is_help=True, **options)
        self.sections = sections
        self.entries = {entry.name: entry for part in sections.values() for entry in part}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands."""
        return [*self.entries, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand and return it.

        Raises MissingExtra if its module needs a package that is not installed.
        """
        entry = self.entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        try:
            module = import_module(f"headrace.cli.{entry.module}")
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if not entry.extra or package in ("", "headrace"):
                raise
            path = f"{ctx.command_path} {cmd_name}"
            raise MissingExtra(path, package.replace("_", "-"), entry.extra) from error
        command: click.Command = getattr(module, f"{cmd_name}_command", None) or getattr(
            module, cmd_name
        )
        command.epilog = f"Example: {entry.example}"
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - Click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """List the subcommands by section, from the table alone."""
        width = max(map(len, self.entries))
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(entry.name.ljust(width), entry.summary) for entry in entries])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the subcommands from the table alone, and the options of the group."""
        found = [
            CompletionItem(entry.name, help=entry.summary)
            for entry in self.entries.values()
            if entry.name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; Ctrl-C ends the process with exit code 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


LAKE = {
    "Commands": (
        CommandEntry(
            "sync",
            "lake.sync",
            "Copy new events into the lake, each exactly once.",
            "headrace lake sync --to /data/lake --follow",
            extra="spark",
        ),
        CommandEntry(
            "status",
            "lake.status",
            "Show what the lake holds and how far it lags behind the server.",
            "headrace lake status",
        ),
        CommandEntry(
            "compact",
            "lake.maintenance",
            "Rewrite the small files of each day and queue as a few large ones.",
            "headrace lake compact",
            extra="spark",
        ),
        CommandEntry(
            "rollup",
            "lake.maintenance",
            "Build the tables of every day whose events have changed.",
            "headrace lake rollup",
            extra="spark",
        ),
        CommandEntry(
            "sql",
            "lake.queries",
            "Query the history in SQL; queries are read-only.",
            "headrace lake sql \"select queue, day, wait_p99 from daily where by = 'all'\"",
            extra="spark",
        ),
        CommandEntry(
            "plot",
            "lake.queries",
            "Plot finished attempts over time, as of the last sync.",
            "headrace lake plot --to history.png",
            extra="spark",
        ),
        CommandEntry(
            "replay",
            "lake.replay",
            "Put jobs of the past again, each exactly once.",
            "headrace lake replay --where \"queue = 'resize' and failure_type = 'Timeout'\" "
            "--into retry-queue",
            extra="spark",
        ),
        CommandEntry(
            "forget",
            "lake.status",
            "Stop keeping events on the server for a lake; the lake is not changed.",
            "headrace lake forget --lake /data/lake",
        ),
    )
}

SECTIONS = {
    "Inspect": (
        CommandEntry(
            "top",
            "top.command",
            "Watch queues, workers and failures live.",
            "headrace top",
        ),
        CommandEntry(
            "queues",
            "queues",
            "List the queues with the number of jobs in each state.",
            "headrace queues",
        ),
        CommandEntry(
            "peek",
            "jobs",
            "Show the next jobs of a queue in the order workers get them.",
            "headrace peek mail --count 3",
        ),
        CommandEntry(
            "jobs",
            "jobs",
            "List the jobs of a queue in one state, or the jobs with a tag.",
            "headrace jobs mail --state failed",
        ),
        CommandEntry(
            "job",
            "job",
            "Show one job: data, attempts, errors, and why it waits.",
            "headrace job ada",
        ),
        CommandEntry("why", "job", "Explain why a job is not running yet.", "headrace why ada"),
        CommandEntry(
            "result", "job", "Print the result of a job as JSON.", "headrace result ada --wait 10"
        ),
        CommandEntry(
            "failures",
            "failures",
            "List failure types with their newest message, or the jobs of one type.",
            "headrace failures smtp",
        ),
        CommandEntry(
            "workers",
            "workers",
            "List the workers that have a session and the jobs they hold.",
            "headrace workers",
        ),
        CommandEntry(
            "schedules",
            "queues",
            "List schedules by the time of their next run.",
            "headrace schedules",
        ),
        CommandEntry(
            "tags",
            "jobs",
            "List tags, most used first, or the jobs with one tag.",
            "headrace tags vip",
        ),
        CommandEntry(
            "stats",
            "stats",
            "Show how long the jobs of a queue waited and ran on one day.",
            "headrace stats mail 2026-11-15",
        ),
        CommandEntry(
            "events",
            "events",
            "Show the latest events; --follow also prints new ones.",
            "headrace events --follow --queue mail",
        ),
        CommandEntry(
            "audit",
            "audit",
            "Check that the books of all queues balance.",
            "headrace audit",
        ),
        CommandEntry(
            "metrics",
            "metrics",
            "Serve the state of the queues as Prometheus metrics until Ctrl-C.",
            "headrace metrics --port 9464 -n shop",
            extra="telemetry",
        ),
    ),
    "Operate": (
        CommandEntry(
            "put",
            "put",
            "Put a job into a queue and print its id; --from puts many.",
            'headrace put mail \'{"to": "ada"}\' --priority -1 --tag vip',
        ),
        CommandEntry(
            "retry",
            "failures",
            "Retry failed jobs, by id or by failure type, queue and tag.",
            "headrace retry --failure smtp --queue mail --all",
        ),
        CommandEntry(
            "cancel",
            "cancel",
            "Delete jobs, by id or by failure type, queue, state, tag and data.",
            "headrace cancel --queue mail --state waiting --dry-run",
        ),
        CommandEntry(
            "pause",
            "queues",
            "Stop handing out jobs of queues until they are resumed.",
            "headrace pause mail",
        ),
        CommandEntry(
            "resume", "queues", "Hand out jobs of paused queues again.", "headrace resume mail"
        ),
        CommandEntry(
            "release",
            "workers",
            "Take a running job from its worker and make it available again.",
            "headrace release ada --back",
        ),
        CommandEntry(
            "timeout",
            "workers",
            "Expire the leases of running jobs now.",
            "headrace timeout ada grace",
        ),
        CommandEntry(
            "sweep",
            "workers",
            "Run housekeeping once; use it when no worker is running.",
            "headrace sweep",
        ),
        CommandEntry(
            "configure",
            "settings",
            "Show or change the settings of a queue.",
            "headrace configure mail concurrency=10 lease=5m",
        ),
        CommandEntry(
            "config",
            "settings",
            "Show or change the settings of a namespace.",
            "headrace config retries=3",
        ),
        CommandEntry(
            "import",
            "importing",
            "Import the jobs of thoonk, qless, worqr or redis-queue.",
            "headrace import worqr redis://localhost:6379/0 -n shop",
        ),
    ),
    "Run": (
        CommandEntry(
            "work",
            "work",
            "Run a worker for the tasks of an app.",
            "headrace work shop.tasks:app -q mail,default --processes 2",
        ),
        CommandEntry(
            "demo",
            "demo.command",
            "Run a small online shop for a minute and kill one of its workers.",
            "headrace demo",
        ),
    ),
    "Server": (
        CommandEntry(
            "doctor",
            "doctor.command",
            "Check the server, the namespace and this machine, and advise.",
            "headrace doctor --strict",
        ),
        CommandEntry("up", "server", "Start the embedded server and print its URL.", "headrace up"),
        CommandEntry(
            "down", "server", "Stop the embedded server; its data stays.", "headrace down"
        ),
    ),
    "History": (
        CommandEntry(
            "lake", "main", "Keep the history of jobs as Parquet files.", "headrace lake status"
        ),
    ),
}

lake = LazyGroup("lake", sections=LAKE, help="Keep the history of jobs as Parquet files.")

app = LazyGroup(
    "headrace",
    sections=SECTIONS,
    help="A reliable, atomic, distributed work queue on Redis or Valkey.",
    params=[install_completion, show_completion],
    context_settings={"max_content_width": 100},
)
app = click.version_option(
    package_name="headrace", message="%(version)s", help="Show the version."
)(app)


def main() -> None:
    """Run the command line.

    An error of Headrace or of the operating system is printed as one line. The exit code is then 1,
    or 2 if the arguments are invalid.
    """
    try:
        app(prog_name="headrace")
    except HeadraceError as error:
        lines = (line.strip() for line in str(error).splitlines())
        click.echo(f"headrace: {' | '.join(filter(None, lines))}", err=True)
        sys.exit(2 if isinstance(error, InvalidArgument) else 1)
    except OSError as error:
        click.echo(f"headrace: {error}", err=True)
        sys.exit(1)
