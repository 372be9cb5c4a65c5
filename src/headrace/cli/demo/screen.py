"""What the demo shows: sentences, and while work is done a panel that moves."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headrace import Counts

WORD = 10
BAR = 28
REFRESHED = 8
# A rate is of the last so many seconds.
RATED = 2.0
# Where nothing can move, a line every so often.
LINE_EVERY = 1.0


@dataclass(slots=True)
class Progress:
    """How far the work is: what was put, what is there now, and how fast it goes."""

    put: Mapping[str, int]
    began: float = field(default_factory=time.monotonic)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    workers: int = 0
    note: str = ""
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def update(self, counts: Mapping[str, Counts], workers: int) -> None:
        """What the server says now."""
        self.counts = counts
        self.workers = workers
        now = time.monotonic()
        self._seen.append((now, self.over))
        while now - self._seen[0][0] > RATED:
            self._seen.popleft()

    def over_in(self, queue: str) -> int:
        """How many jobs of a queue are complete, failed or cancelled."""
        return max(0, self.put[queue] - self.counts[queue].length) if self.counts else 0

    @property
    def over(self) -> int:
        return sum(self.over_in(queue) for queue in self.put)

    @property
    def total(self) -> int:
        return sum(self.put.values())

    @property
    def rate(self) -> float:
        """Jobs a second, lately."""
        if not self._seen:
            return 0.0
        (then, before), (now, over) = self._seen[0], self._seen[-1]
        return (over - before) / (now - then) if now > then else 0.0


class Screen:
    """Where the demo speaks: on a terminal with a live panel, in a pipe line by line."""

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(quiet=quiet, highlight=False)
        self._live: Live | None = None
        self._line_at = time.monotonic() + LINE_EVERY

    def say(self, word: str, words: str) -> None:
        """A sentence, with what it is about."""
        for at, line in enumerate(words.split("\n")):
            head = "" if at else word
            self.console.print(f"[bold cyan]{head:<{WORD}}[/] {line}", soft_wrap=True)

    def show(self, drawn: RenderableType) -> None:
        """A table, below what was said."""
        self.console.print(Padding(drawn, (0, 0, 1, WORD + 1)))

    @contextmanager
    def moving(self, progress: Progress) -> Iterator[None]:
        """A panel that shows how far the work is, as long as there is a terminal for it."""
        if not self.console.is_terminal or self.console.quiet:
            yield
            return
        with Live(
            panel(progress),
            console=self.console,
            refresh_per_second=REFRESHED,
            transient=True,
        ) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def moved(self, progress: Progress) -> None:
        """Shows the progress as it is now."""
        if self._live is not None:
            self._live.update(panel(progress))
        elif progress.workers and time.monotonic() >= self._line_at:
            self._line_at = time.monotonic() + LINE_EVERY
            self.console.print(line(progress), soft_wrap=True)


def line(progress: Progress) -> str:
    """The progress for a pipe."""
    running = sum(counts.running for counts in progress.counts.values())
    seconds = time.monotonic() - progress.began
    return (
        f"{f'{seconds:.0f} s':>{WORD}} {progress.over:,} of {progress.total:,} jobs are over, "
        f"{running} run, {progress.rate:,.0f} a second"
    )


def panel(progress: Progress) -> Panel:
    """The progress for a terminal: a bar for each queue."""
    table = Table.grid(padding=(0, 1))
    table.add_column()
    table.add_column()
    table.add_column(justify="right", min_width=len("1,000/1,000"))
    for _ in range(3):
        table.add_column(justify="right")
    table.add_row("", "", *(Text(name, "dim") for name in ("over", "running", "later", "failed")))
    for queue, put in progress.put.items():
        table.add_row(queue, *_cells(progress, queue, put))
    seconds = time.monotonic() - progress.began
    title = f"{progress.over:,} of {progress.total:,} jobs  ·  {progress.rate:,.0f} a second"
    subtitle = f"{_workers(progress.workers)}  ·  {seconds:.1f} s"
    note = Text.from_markup(progress.note or ("" if progress.workers else "the workers start"))
    return Panel(Group(table, note), title=title, subtitle=subtitle, expand=False)


def _cells(progress: Progress, queue: str, put: int) -> list[RenderableType]:
    counts = progress.counts.get(queue)
    if counts is None:
        return [_bar(put, 0, 0, 0), "", "", "", ""]
    over = progress.over_in(queue)
    return [
        _bar(put, over - counts.failed, counts.failed, counts.running),
        f"{over:,}/{put:,}",
        str(counts.running or ""),
        str(counts.scheduled + counts.blocked or ""),
        Text(str(counts.failed or ""), "red"),
    ]


def _bar(put: int, done: int, failed: int, running: int) -> Text:
    bar, drawn, so_far = Text(), 0, 0
    for share, style in ((done, "green"), (failed, "red"), (running, "yellow")):
        so_far += max(0, share)
        cells = round(BAR * min(1.0, so_far / max(1, put))) - drawn
        bar.append("█" * cells, style)
        drawn += cells
    return bar.append("░" * (BAR - drawn), "dim")


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"
