"""Tables and progress bars for a terminal, drawn by rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from headrace.engine.states import STATES

# The styles of cells that contain exactly the state of a job or the verdict of a check.
STYLES = dict(zip(STATES, ("cyan", "blue", "yellow", "green", "red", "dim"), strict=True))
STYLES |= {"ok": "green", "warning": "yellow", "problem": "bold red", "not applicable": "dim"}
# Longer cells are cut.
LONGEST = 400
# The first column and the columns with these names are never cut.
ID_COLUMNS = ("job",)
# A column of at most this width is cut only if the terminal is too narrow.
SHORT = 12
LEAST = 4
GAP = 2


def table(columns: Sequence[str], cells: Sequence[Sequence[str]], *, cut: bool) -> None:
    """Print a table that fits the terminal. The first column and job ids are never cut."""
    console = Console(highlight=False)
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    whole = _whole_columns(columns, widths, console.width, cut=cut)
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for at, name in enumerate(columns):
        numbers = bool(cells) and all(row[at].replace(",", "").isdigit() for row in cells)
        drawn.add_column(
            _text(name, cut=cut),
            justify="right" if numbers else "left",
            no_wrap=whole[at],
            overflow="fold",
        )
    for row in cells:
        drawn.add_row(
            *(_text(cell, cut=cut and not whole[at]) for at, cell in enumerate(row)),
        )
    console.print(drawn)


def _whole_columns(
    columns: Sequence[str], widths: Sequence[int], room: int, *, cut: bool
) -> list[bool]:
    """Return for each column whether the column gets its full width."""
    ids = [at == 0 or name in ID_COLUMNS for at, name in enumerate(columns)]
    short = [is_id or width <= SHORT for is_id, width in zip(ids, widths, strict=True)]
    needed = sum(
        (width if is_short else LEAST) + GAP for width, is_short in zip(widths, short, strict=True)
    )
    return short if cut and needed <= room else ids


def _text(words: str, *, cut: bool) -> Text:
    shown = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    found = Text(shown, style=STYLES.get(words, ""))
    if cut:
        found.no_wrap, found.overflow = True, "ellipsis"
    return found


def progress_bar() -> Progress:
    """Return a progress bar on stderr that disappears at the end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
