"""Tables and progress bars for a terminal, drawn by rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from headrace.engine.states import STATES

# Maps a job state or a check's verdict to a style, for cells that contain only this word.
STYLES = dict(zip(STATES, ("cyan", "blue", "yellow", "green", "red", "dim"), strict=True))
STYLES |= {"ok": "green", "warning": "yellow", "problem": "bold red", "not applicable": "dim"}
# Longer cells are cut.
LONGEST = 400
# The first column and the columns with these names are never cut.
ID_COLUMNS = ("job",)


def table(columns: Sequence[str], cells: Sequence[Sequence[str]], *, cut: bool) -> None:
    """Print a table that fits the terminal. The first column and job ids are never cut.

    rich makes the widest of the other columns narrower until the table fits.
    """
    console = Console(highlight=False)
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    is_id = [at == 0 or name in ID_COLUMNS for at, name in enumerate(columns)]
    for at, name in enumerate(columns):
        numbers = bool(cells) and all(row[at].replace(",", "").isdigit() for row in cells)
        drawn.add_column(
            _text(name, cut=cut),
            justify="right" if numbers else "left",
            no_wrap=is_id[at],
            overflow="fold",
        )
    for row in cells:
        drawn.add_row(*(_text(cell, cut=cut and not is_id[at]) for at, cell in enumerate(row)))
    console.print(drawn)


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
