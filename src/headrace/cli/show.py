"""How every command shows what it found: a sentence for people, an object for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]


def show(found: Mapping[str, object], sentence: str, *, as_json: bool) -> None:
    """Print `found` or the sentence that says it."""
    typer.echo(json.dumps(found, default=str) if as_json else sentence)


def printable(words: str) -> str:
    """Words of others, who may have put orders for the terminal into them."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words
    )
