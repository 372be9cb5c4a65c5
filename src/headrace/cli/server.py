"""`up` and `down`: start and stop the embedded server of a directory."""

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

    If the server is already running, the command only prints the URL.
    """
    url = embedded.start(directory)
    running = embedded.status(directory)
    if running is None:
        raise EmbeddedServerError(f"another process stopped the server in {directory}")
    show(asdict(running), url)


@options.command("down", server=False)
@directory_option
def down(directory: Path) -> None:
    """Stop the embedded server and keep its data."""
    stopped = embedded.stop(directory)
    sentence = "The server is stopped; its data is kept." if stopped else "No server was running."
    show({"stopped": stopped, "directory": directory.resolve()}, sentence)
