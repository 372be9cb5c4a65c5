"""The options that every command has which talks to a server."""

from __future__ import annotations

from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option(
        envvar="HEADRACE_URL",
        show_envvar=True,
        help="The server; without one the embedded server of this directory.",
    ),
]
Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", envvar="HEADRACE_NAMESPACE", help="What to look at on it."),
]
