"""`up` and `down`: the embedded server of a directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from headrace.cli import options
from headrace.cli.connecting import HERE
from headrace.cli.output import show
from headrace.errors import EmbeddedServerError
from headrace.local_server import embedded

directory_option = click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=HERE,
    help="Directory of the server's data; default: .headrace.",
)


@options.command("up", server=False)
@directory_option
def up(directory: Path) -> None:
    """Start the embedded server and print its URL.

    A server that is already running is left running.
    """
    url = embedded.start(directory)
    running = embedded.status(directory)
    if running is None:
        raise EmbeddedServerError(f"the server in {directory.resolve()} was stopped meanwhile")
    show(asdict(running), url)


@options.command("down", server=False)
@directory_option
def down(directory: Path) -> None:
    """Stop the embedded server; its data stays."""
    stopped = embedded.stop(directory)
    sentence = "The server is stopped; its data stays." if stopped else "No server was running."
    show({"stopped": stopped, "directory": directory.resolve()}, sentence)
