"""What the demo prints: labelled sentences, tables, histograms, and bars while jobs run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headrace.cli.output import histogram
from headrace.cli.terminal import progress_bar

LABEL = 10


class DemoDisplay:
    """Prints the demo to stdout; with `quiet`, prints nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(quiet=quiet, highlight=False)

    def say(self, label: str, words: str) -> None:
        """Print lines of text after a label."""
        for at, line in enumerate(words.split("\n")):
            head = "" if at else label
            self.console.print(f"[bold cyan]{head:<{LABEL}}[/] {line}", soft_wrap=True)

    def show(self, drawn: RenderableType) -> None:
        """Print something below the last sentence."""
        self.console.print(Padding(drawn, (0, 0, 1, LABEL + 1)))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table; columns of numbers are right-aligned."""
        cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
        drawn = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for at, name in enumerate(columns):
            numbers = all(not row[at] or row[at][0].isdigit() for row in cells if len(row) > at)
            drawn.add_column(name, justify="right" if numbers and at else "left", no_wrap=True)
        for row in cells:
            drawn.add_row(*map(Text, row))
        self.show(drawn)

    def histogram(self, rows: Sequence[tuple[str, int]]) -> None:
        """Print a histogram."""
        self.show(Text("\n".join(histogram(rows)), "cyan"))

    @contextmanager
    def bars(self, totals: Mapping[str, int]) -> Iterator[Callable[[Mapping[str, int]], None]]:
        """Show a bar for each queue on a terminal; yields the function that moves them."""
        if not self.console.is_terminal or self.console.quiet:
            yield lambda _done: None
            return
        with progress_bar() as bar:
            tasks = {
                name: bar.add_task(f"{name:<9}", total=total) for name, total in totals.items()
            }

            def move(done: Mapping[str, int]) -> None:
                for name, task in tasks.items():
                    bar.update(task, completed=done[name])

            yield move
