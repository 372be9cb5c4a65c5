"""The options that commands share, each said once."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from headrace.cli.completing import failure_types, queue_names, states
from headrace.engine.states import STATES

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")


def seconds(text: str) -> float:
    """A span as people write it: 10, 1.5s, 5m, 2h, 7d."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a span; write 10, 500ms, 1.5s, 5m, 2h or 7d")
    return float(found[1]) * _UNITS[found[2]]


def state_of(text: str) -> str:
    """A state, if it is one."""
    if text not in STATES:
        raise typer.BadParameter(f"no state {text!r}; there are: {', '.join(STATES)}")
    return text


Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="HEADRACE_URL",
        show_envvar=False,
        metavar="URL",
        help="The server; HEADRACE_URL, or else the embedded one of this directory.",
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        envvar="HEADRACE_NAMESPACE",
        show_envvar=False,
        metavar="NAME",
        help="The namespace, or HEADRACE_NAMESPACE.",
    ),
]
JsonLines = Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs.")]

Queue = Annotated[
    str, typer.Argument(metavar="QUEUE", autocompletion=queue_names, help="Its name.")
]
SomeQueue = Annotated[
    str | None,
    typer.Argument(metavar="QUEUE", autocompletion=queue_names, help="Of this queue only."),
]
InQueue = Annotated[
    str | None,
    typer.Option("--queue", metavar="QUEUE", autocompletion=queue_names, help="Of this queue."),
]
WithTag = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="With this tag.")]
InState = Annotated[
    str | None,
    typer.Option(
        "--state",
        parser=state_of,
        metavar="STATE",
        autocompletion=states,
        help="In this state.",
    ),
]
OfFailure = Annotated[
    str | None,
    typer.Option(
        "--failure", metavar="TYPE", autocompletion=failure_types, help="Failed with this type."
    ),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the job.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Jobs by their ids.")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="Pass over so many.")]
Count = Annotated[int, typer.Option("--count", min=1, max=1000, help="Show up to so many.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say which jobs it would be.")]
Delay = Annotated[
    float | None,
    typer.Option("--delay", parser=seconds, metavar="SPAN", help="Not before 10, 5m, 2h, 7d."),
]
