"""The state that the steps of the demo share, and what the demo prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headrace import Client
from headrace.cli.demo.environment import DemoEnvironment, DemoWorker, DemoWorkers
from headrace.cli.output import histogram
from headrace.cli.terminal import progress_bar
from headrace.demo import ShopDay
from headrace.operations.snapshot import NamespaceSnapshot, snapshot
from headrace.transport.drive import drive

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


@dataclass(slots=True)
class DemoRun:
    """The state that the steps share."""

    hr: Client
    environment: DemoEnvironment
    workers: DemoWorkers
    display: DemoDisplay
    jobs: int
    day: ShopDay = field(default_factory=lambda: ShopDay({}, {}, ""))
    found: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    snapshot: NamespaceSnapshot | None = None
    dead: DemoWorker | None = None
    died_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    held: list[str] = field(default_factory=list)
    interrupted: bool = False

    def say(self, label: str, words: str) -> None:
        """Print lines of text after a label."""
        self.display.say(label, words)

    def look(self) -> NamespaceSnapshot:
        """Read the state of the namespace."""
        core = self.hr.core
        self.snapshot = drive(core.transport, snapshot(core, detailed=()))
        return self.snapshot

    @property
    def finished(self) -> Mapping[str, int]:
        """The number of finished jobs of each queue."""
        queues = self.snapshot.queues if self.snapshot else {}
        return {
            name: max(0, put - queues[name].counts.length) if name in queues else 0
            for name, put in self.day.jobs.items()
        }

    @property
    def total(self) -> int:
        """The number of jobs that were put."""
        return sum(self.day.jobs.values())

    def held_by(self, worker: DemoWorker) -> int:
        """Return the number of jobs that a worker held in the last snapshot."""
        known = self.snapshot.workers if self.snapshot else ()
        return sum(one.jobs for one in known if worker.is_named(one.name))
