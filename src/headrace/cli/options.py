"""The options and arguments that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from headrace.cli.connecting import ServerOptions
from headrace.cli.shell_completion import failure_types, queue_names, states
from headrace.engine.states import STATES

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")


def seconds(text: str) -> float:
    """Parse a duration such as 10, 1.5s, 5m, 2h or 7d."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is not a duration; write 10, 500ms, 1.5s, 5m, 2h or 7d")
    return float(found[1]) * _UNITS[found[2]]


def one_of(what: str, choices: tuple[str, ...]) -> Callable[[str], str]:
    """Return a parser that accepts only these words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise click.BadParameter(f"unknown {what} {text!r}; choose from {', '.join(choices)}")
        return text

    return parse


def duration(*names: str, help: str, **more: Any) -> Callable[[F], F]:  # noqa: A002 - Click's word
    """Return an option whose value is a duration in seconds."""
    return click.option(*names, type=seconds, metavar="DURATION", help=help, **more)


url = click.option(
    "--url",
    envvar="HEADRACE_URL",
    metavar="URL",
    help="Server URL; default: HEADRACE_URL, or the embedded server of this directory.",
)
namespace = click.option(
    "--namespace",
    "-n",
    envvar="HEADRACE_NAMESPACE",
    metavar="NAME",
    default="default",
    help="Namespace; default: HEADRACE_NAMESPACE, or 'default'.",
)


def server(command: Callable[..., None]) -> Callable[..., None]:
    """Add --url and --namespace, and pass both to the command as `server`."""

    @wraps(command)
    def run(*args: Any, url: str | None, namespace: str, **options: Any) -> None:
        command(*args, server=ServerOptions(url or None, namespace), **options)

    return url(namespace(run))


def count(default: int, most: int = 1000) -> Callable[[F], F]:
    """Return --count with this default."""
    limits = click.IntRange(1, most)
    about = f"Show at most this many; default: {default}."
    return click.option("--count", type=limits, metavar="NUMBER", default=default, help=about)


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
json_lines = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
queue = click.argument("queue", shell_complete=queue_names, help="Name of the queue.")
optional_queue = click.argument(
    "queue", required=False, shell_complete=queue_names, help="Show only this queue."
)
in_queue = click.option(
    "--queue", metavar="QUEUE", shell_complete=queue_names, help="Only jobs of this queue."
)
with_tag = click.option("--tag", metavar="TAG", help="Only jobs with this tag.")
in_state = click.option(
    "--state",
    type=one_of("state", tuple(STATES)),
    metavar="STATE",
    shell_complete=states,
    help=f"Only jobs in this state: {', '.join(STATES)}.",
)
of_failure = click.option(
    "--failure",
    metavar="TYPE",
    shell_complete=failure_types,
    help="Only jobs that failed with this type.",
)
job_id = click.argument("job_id", metavar="ID", help="Id of the job.")
job_ids = click.argument("ids", metavar="[ID]...", nargs=-1, help="Ids of jobs.")
offset = click.option(
    "--offset", type=click.IntRange(0), metavar="NUMBER", default=0, help="Skip this many."
)
yes = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")
delay = duration("--delay", help="Make the job available after this time: 10, 5m, 2h, 7d.")
