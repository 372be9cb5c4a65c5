"""How every command shows what it found: lines and tables for people, objects for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.errors import Unreadable

if TYPE_CHECKING:
    from headrace import Event, Job, Schedule

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]

Cells = Sequence[object]


def show(found: Mapping[str, object], sentence: str, *, as_json: bool) -> None:
    """Print `found` or the sentence that says it."""
    typer.echo(as_line(found) if as_json else sentence)


def as_line(found: object) -> str:
    """What was found as one line of JSON."""
    return json.dumps(found, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return escaped(value)
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return str(value)


def escaped(payload: bytes) -> str:
    """Bytes as text that can be printed anywhere."""
    return repr(payload)[2:-1]


def facts_of(found: Job | Schedule) -> dict[str, Any]:
    """A job or a schedule for programs: with its data, or its payload if that cannot be read."""
    facts = _fields_but(found, "payload", "_codec")
    try:
        return {**facts, "data": found.data}
    except Unreadable:
        return {**facts, "data": None, "payload": found.payload}


def facts_of_event(event: Event) -> dict[str, Any]:
    """An event for programs, likewise."""
    facts = _fields_but(event, "data")
    if event.data is None:
        return {**facts, "data": None}
    try:
        return {**facts, "data": json.loads(event.data)}
    except (ValueError, RecursionError):
        return {**facts, "data": None, "payload": event.data}


def _fields_but(found: Job | Schedule | Event, *names: str) -> dict[str, Any]:
    every = (each.name for each in fields(found))
    return {name: getattr(found, name) for name in every if name not in names}


def data_of(found: Job | Schedule) -> str:
    """The data of a job or a schedule for people; bytes as they are if they cannot be read."""
    try:
        return as_words(found.data)
    except Unreadable:
        return escaped(found.payload)


def as_words(value: object) -> str:
    """A JSON value for people."""
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def printable(words: str) -> str:
    """Words of others, who may have put orders for the terminal into them."""
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)


def tell_more(shown: int, offset: int, count: int, read: Callable[..., Any]) -> None:
    """Says so if there are more than were shown."""
    if shown == count and read(offset=offset + count, count=1):
        typer.echo(f"there are more: --offset {offset + count}", err=True)


def table(columns: Sequence[str], rows: Iterable[Cells], *, cut: bool = False) -> None:
    """Rows under their columns; what is piped is as wide as it must be.

    On a terminal words are wrapped, or cut so that a row is a line.
    """
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        # Here, because rich takes long to load.
        from headrace.cli import screen  # noqa: PLC0415

        screen.table(columns, cells, cut=cut)
    else:
        _print_aligned([list(columns), *cells])


def pairs(rows: Iterable[tuple[str, object]]) -> None:
    """Names and values, one a line; what has no value is left out."""
    said = [(name, str(value)) for name, value in rows if value not in (None, "")]
    width = max((len(name) for name, _ in said), default=0)
    for name, value in said:
        typer.echo(f"{typer.style(name.ljust(width), bold=True)}  {printable(value)}")


def heading(words: str) -> None:
    """A heading, with a line of its own before it."""
    typer.echo(f"\n{typer.style(words, bold=True)}")


def _print_aligned(lines: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
