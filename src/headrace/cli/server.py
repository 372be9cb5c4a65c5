"""`up` and `down`: the embedded server of a directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from headrace.cli.output import show
from headrace.errors import EmbeddedServerError
from headrace.local_server import embedded

HERE = Path(".headrace")

directory_option = click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=HERE,
    help="Directory of the server's data; default: .headrace.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command(epilog="Example: headrace up")
@directory_option
@json_option
def up(directory: Path, as_json: bool) -> None:
    """Start the embedded server and print its URL.

    A server that is already running is left running.
    """
    url = embedded.start(directory)
    running = embedded.status(directory)
    if running is None:
        raise EmbeddedServerError(f"the server in {directory.resolve()} was stopped meanwhile")
    show(asdict(running), url, as_json=as_json)


@click.command(epilog="Example: headrace down")
@directory_option
@json_option
def down(directory: Path, as_json: bool) -> None:
    """Stop the embedded server; its data stays."""
    stopped = embedded.stop(directory)
    sentence = "The server is stopped; its data stays." if stopped else "No server was running."
    show({"stopped": stopped, "directory": directory.resolve()}, sentence, as_json=as_json)
