"""The options and arguments that several commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import JSON
from headrace.cli.shell_completion import failure_types, queue_names
from headrace.engine.settings import UNITS
from headrace.engine.states import STATES

LOOPBACK = "127.0.0.1"
JSON_LINES = "Print one JSON object per line."

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {**UNITS, "": UNITS["s"]}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")


def seconds(text: str) -> float:
    """Parse a duration such as 10, 1.5s, 5m, 2h or 7d."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is not a duration; write 10, 500ms, 1.5s, 5m, 2h or 7d")
    return float(found[1]) * _UNITS[found[2]] / 1000


def duration(*names: str, **more: Any) -> Callable[[F], F]:
    """Return an option whose value is a duration in seconds."""
    return click.option(*names, type=seconds, metavar="DURATION", **more)


def json_value(text: str) -> Any:
    """Parse an argument as JSON. Raises BadParameter if the argument is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"this is not JSON ({error}); write a string in double and single quotes: '\"hello\"'"
        ) from None


def number(
    *names: str,
    least: float = 1,
    most: float | None = None,
    help: str,  # noqa: A002 - Click's name
    **more: Any,
) -> Callable[[F], F]:
    """Return an option for a number from `least` to `most`.

    If `least` is an integer, the option accepts only integers. The default, if any, is added to the
    help.
    """
    kind: Any = click.IntRange if isinstance(least, int) else click.FloatRange
    about = f"{help[:-1]}; default: {more['default']:g}." if "default" in more else help
    return click.option(*names, type=kind(least, most), help=about, **{"metavar": "NUMBER"} | more)


def port(name: str, **more: Any) -> Callable[[F], F]:
    """Return an option whose value is a TCP port."""
    return number(name, least=0, most=65535, metavar="PORT", **more)


def address(name: str) -> Callable[[F], F]:
    """Return an option for the network address of a server, by default this machine only."""
    return click.option(
        name,
        metavar="ADDRESS",
        default=LOOPBACK,
        help=f"Network address to listen on, 0.0.0.0 for all; default: {LOOPBACK}.",
    )


namespace = click.option(
    "--namespace",
    "-n",
    envvar="HEADRACE_NAMESPACE",
    metavar="NAME",
    default="default",
    help="Namespace; default: HEADRACE_NAMESPACE, or 'default'.",
)


def url(name: str, what: str) -> Callable[[F], F]:
    """Return the option that selects a server."""
    about = f"{what}; default: HEADRACE_URL, or the embedded server of this directory."
    return click.option(name, "url", envvar="HEADRACE_URL", metavar="URL", help=about)


def _set_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    ctx.meta[JSON] = value


def command(
    example: str,
    name: str | None = None,
    *,
    server: bool = True,
    json_help: str = "Print one JSON object.",
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command with the option --json.

    The help of the command ends with `example`. Unless `server` is false, the command also has the
    options --url and --namespace. The function receives the values of --url and --namespace as the
    argument `server`.
    """

    def make(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def run(*args: Any, url: str | None, namespace: str, **options: Any) -> None:
            function(*args, server=ServerOptions(url or None, namespace), **options)

        made = click.command(name, epilog=f"Example: headrace {example}")(
            run if server else function
        )
        if server:
            url("--url", "Server URL")(made)
            namespace(made)
        # `output.wants_json` reads the value of --json.
        json_option = click.option(
            "--json", is_flag=True, expose_value=False, callback=_set_json, help=json_help
        )
        json_option(made)
        return made

    return make


def client_command(
    example: str, *, json_help: str = "Print one JSON object."
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command whose function receives a client.

    The command fails if the namespace does not exist.
    """

    def make(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def run(*args: Any, server: ServerOptions, **options: Any) -> None:
            with open_client(server) as client:
                function(*args, client=client, **options)

        return command(example, json_help=json_help)(run)

    return make


def count(default: int, most: int = 1000) -> Callable[[F], F]:
    """Return the option --count with this default."""
    return number("--count", most=most, default=default, help="Show at most this many rows.")


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
    type=click.Choice(STATES),
    metavar="STATE",
    help=f"Only jobs in this state: {', '.join(STATES)}.",
)
of_failure = click.option(
    "--failure",
    metavar="TYPE",
    shell_complete=failure_types,
    help="Only jobs that failed with this failure type.",
)
job_id = click.argument("job_id", metavar="ID", help="Id of the job.")
job_ids = click.argument("ids", metavar="[ID]...", nargs=-1, help="Ids of jobs.")
offset = number("--offset", least=0, default=0, help="Skip this many rows.")
yes = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
dry_run = click.option(
    "--dry-run", is_flag=True, help="Show the affected jobs, but change nothing."
)
delay = duration("--delay", help="Make the job available after this time: 10, 5m, 2h, 7d.")
