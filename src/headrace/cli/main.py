"""The `headrace` command and the table of its subcommands.

Click imports the module of a subcommand only to run the subcommand or to show its help. The table
therefore repeats the first line of every subcommand's help. A test checks that the table and the
help texts agree.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from headrace.cli.completion_setup import install_completion, show_completion
from headrace.cli.entry import INTERRUPTED
from headrace.cli.output import warn
from headrace.errors import HeadraceError, InvalidArgument, MissingExtra

# For each section and subcommand: the module under headrace.cli, and the subcommand's summary.
Sections = Mapping[str, Mapping[str, tuple[str, str]]]


class LazyGroup(click.Group):
    """A group that imports the module of a subcommand when the subcommand is used."""

    def __init__(self, name: str, *, sections: Sections, **options: Any) -> None:
        super().__init__(name, no_args_is_help=True, **options)
        self.sections = sections
        self.entries = {name: entry for part in sections.values() for name, entry in part.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        """Return the names of all subcommands."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand and return its Click command.

        Raises MissingExtra if the subcommand's module needs a package that is not installed.
        """
        if cmd_name not in self.entries:
            return None
        name, _ = self.entries[cmd_name]
        try:
            module = import_module(f"headrace.cli.{name}")
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0].replace("_", "-")
            if name not in EXTRAS or package in ("", "headrace"):
                raise
            raise MissingExtra(f"{ctx.command_path} {cmd_name}", package, EXTRAS[name]) from error
        command: click.Command = getattr(
            module, "import_command" if cmd_name == "import" else cmd_name
        )
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - Click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """List the subcommands by section, without importing their modules."""
        width = max(map(len, self.entries))
        for title, part in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), about) for name, (_, about) in part.items()]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the subcommands and options of the group, without importing subcommands."""
        found = [
            CompletionItem(name, help=about)
            for name, (_, about) in self.entries.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand. Ctrl-C ends the process with exit code 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


LAKE: Sections = {
    "Commands": {
        "sync": ("lake.sync", "Copy new events into the lake, each exactly once."),
        "status": ("lake.status", "Show the contents of a lake and its lag behind the server."),
        "compact": ("lake.maintenance", "Merge the small files of each day and queue."),
        "rollup": ("lake.maintenance", "Build the tables of every day whose events have changed."),
        "sql": ("lake.queries", "Query the history in SQL."),
        "plot": ("lake.queries", "Plot how many attempts finished over time."),
        "replay": ("lake.replay", "Put jobs from the history again, each exactly once."),
        "forget": ("lake.status", "Stop keeping events on the server for a lake."),
    },
}

SECTIONS: Sections = {
    "Inspect": {
        "top": ("top.command", "Watch queues, workers and failures live."),
        "queues": ("queues", "List the queues with the number of jobs in each state."),
        "peek": ("jobs", "Show the next jobs of a queue in the order in which workers get them."),
        "jobs": ("jobs", "List the jobs of a queue in one state, or the jobs with a tag."),
        "job": ("job", "Show the data, attempts and errors of a job."),
        "why": ("job", "Explain why a job is not running yet."),
        "result": ("job", "Print the result of a job as JSON."),
        "failures": ("jobs", "List failure types, or the jobs that failed with one type."),
        "workers": ("workers", "List the workers that have a session, and count their jobs."),
        "schedules": ("queues", "List schedules by the time of their next run."),
        "tags": ("jobs", "List tags, most used first, or the jobs with one tag."),
        "stats": ("queues", "Show how long the jobs of a queue waited and ran on one day."),
        "events": ("events", "Show the latest events."),
        "audit": ("audit", "Check that the books of all queues balance."),
        "metrics": ("metrics", "Serve the state of the queues as Prometheus metrics."),
    },
    "Operate": {
        "put": ("put", "Put one job or a file of jobs into a queue."),
        "retry": ("retry_cancel", "Retry failed jobs by id, failure type, queue or tag."),
        "cancel": ("retry_cancel", "Delete jobs by id, failure type, queue, state, tag or data."),
        "pause": ("queues", "Stop handing out jobs of queues until the queues are resumed."),
        "resume": ("queues", "Hand out jobs of paused queues again."),
        "release": ("workers", "Make a running job available to other workers again."),
        "timeout": ("workers", "Expire the leases of running jobs now."),
        "sweep": ("workers", "Run housekeeping once."),
        "configure": ("settings", "Show or change the settings of a queue."),
        "config": ("settings", "Show or change the settings of a namespace."),
        "import": ("importing", "Import the jobs of thoonk, qless, worqr or redis-queue."),
    },
    "Run": {
        "work": ("work", "Run a worker for the tasks of an app."),
        "demo": ("demo.command", "Run a small online shop and kill one of its workers."),
    },
    "Server": {
        "acl": ("acl", "Print the ACL rules of a user of a namespace."),
        "doctor": ("doctor.command", "Check the server, the namespace and this machine."),
        "up": ("server", "Start the embedded server and print its URL."),
        "down": ("server", "Stop the embedded server and keep its data."),
    },
    "History": {
        "lake": ("main", "Keep the history of jobs as Parquet files."),
    },
}

# The extra that a module needs, as named in pip install 'headrace[...]'.
EXTRAS = {
    "lake.sync": "spark",
    "lake.maintenance": "spark",
    "lake.queries": "spark",
    "lake.replay": "spark",
    "metrics": "telemetry",
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

    Prints a Headrace error or an operating system error as one line. The exit code is then 1, or 2
    if the arguments are invalid.
    """
    try:
        app(prog_name="headrace")
    except HeadraceError as error:
        lines = (line.strip() for line in str(error).splitlines())
        warn(" | ".join(filter(None, lines)))
        sys.exit(2 if isinstance(error, InvalidArgument) else 1)
    except OSError as error:
        warn(str(error))
        sys.exit(1)
