"""What is drawn on a terminal. Only imported where there is one: rich takes long to load."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from headrace.engine.states import STATES

COLOURS = dict(zip(STATES, ("cyan", "blue", "yellow", "green", "red", "dim"), strict=True))
LONGEST = 200


def table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """A table that fits the terminal; the first column is never cut."""
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for at, name in enumerate(columns):
        numbers = bool(cells) and all(row[at].replace(",", "").isdigit() for row in cells)
        drawn.add_column(
            name,
            justify="right" if numbers else "left",
            no_wrap=at == 0,
            overflow="fold",
        )
    for row in cells:
        drawn.add_row(*(Text(_cut(cell), style=COLOURS.get(cell, "")) for cell in row))
    Console(highlight=False).print(drawn)


def _cut(cell: str) -> str:
    return cell if len(cell) <= LONGEST else f"{cell[: LONGEST - 1]}…"


def progress() -> Progress:
    """A bar on stderr that is gone when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
