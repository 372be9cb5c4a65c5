"""`up` and `down`: the embedded server of a directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.show import AsJson, show
from headrace.errors import EmbeddedServerError
from headrace.local_server import embedded

Directory = Annotated[Path, typer.Option(help="Where the server keeps its data.")]
HERE = Path(".headrace")


def up(*, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Start the embedded server, unless it runs already, and print its URL."""
    url = embedded.start(directory)
    running = embedded.status(directory)
    if running is None:
        raise EmbeddedServerError(f"the server in {directory.resolve()} was stopped meanwhile")
    show(asdict(running), url, as_json=as_json)


def down(*, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Stop the embedded server; its data stays."""
    stopped = embedded.stop(directory)
    sentence = "The server is stopped; its data stays." if stopped else "No server was running."
    show({"stopped": stopped, "directory": directory.resolve()}, sentence, as_json=as_json)
