"""Print results as text, tables or JSON, and progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headrace.errors import Unreadable
from headrace.printable import printable

if TYPE_CHECKING:
    from headrace import Event, Job, Schedule

T = TypeVar("T", bound=Sized)

FIRST_LINE_AFTER, LINE_EVERY = 2.0, 10.0
BAR_WIDTH = 40
# The key under which Click's context stores the value of --json.
JSON = "headrace.json"


# Numbers and times


def size(count: float) -> str:
    """Format a number of bytes with a suitable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def span(seconds: float) -> str:
    """Format a duration with a suitable unit."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    for unit, length, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds / 86400:.0f} days"


def some(names: Sequence[str], most: int = 3) -> str:
    """Format the first `most` names, and say how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """Format a number with its noun: 1 job, 2 jobs."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ago(when: datetime | None, now: datetime) -> str:
    """Format a time relative to now."""
    if when is None:
        return ""
    past = (now - when).total_seconds()
    if past < 0:
        return f"in {span(-past)}"
    return f"{span(max(1, round(past)))} ago"


# JSON


def wants_json() -> bool:
    """Return whether --json was passed to the running command."""
    return bool(click.get_current_context().meta[JSON])


def print_json(found: object) -> bool:
    """Print a value as JSON if --json was passed; return whether --json was passed."""
    if wants_json():
        click.echo(json.dumps(found, default=_plain))
    return wants_json()


def show(found: Mapping[str, object], sentence: str) -> None:
    """Print the fields as JSON if --json was passed, otherwise print the sentence."""
    if not print_json(found):
        say(sentence)


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return escaped(value)
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return str(value)


def escaped(payload: bytes) -> str:
    """Format bytes as printable text."""
    return repr(payload)[2:-1]


def facts_of(found: Job | Schedule) -> dict[str, Any]:
    """Return the fields of a job or a schedule, with its decoded data.

    If the codec cannot decode the data, `data` is None and `payload` has the bytes.
    """
    facts = _fields_except(found, "payload", "_codec")
    try:
        return {**facts, "data": found.data}
    except Unreadable:
        return {**facts, "data": None, "payload": found.payload}


def facts_of_event(event: Event) -> dict[str, Any]:
    """Return the fields of an event, with its decoded data.

    If the data is not JSON, `data` is None and `payload` has the text.
    """
    facts = _fields_except(event, "data")
    if event.data is None:
        return {**facts, "data": None}
    try:
        return {**facts, "data": json.loads(event.data)}
    except (ValueError, RecursionError):
        return {**facts, "data": None, "payload": event.data}


def _fields_except(found: Job | Schedule | Event, *names: str) -> dict[str, Any]:
    every = (each.name for each in fields(found))
    return {name: getattr(found, name) for name in every if name not in names}


# Text


def data_of(found: Job | Schedule) -> str:
    """Format the data of a job or a schedule; escape the payload if the codec cannot decode it."""
    try:
        return as_words(found.data)
    except Unreadable:
        return escaped(found.payload)


def as_words(value: object) -> str:
    """Format a JSON value for a terminal."""
    return json.dumps(value, ensure_ascii=False, default=str)


def say(line: str, *, label: str = "", err: bool = False) -> None:
    """Print a line after a bold label, and escape control characters in the line.

    All commands print their text with this function or in a table, because the text may contain
    data of jobs.
    """
    click.echo(click.style(label, bold=True) * bool(label) + printable(line), err=err)


def ask(question: str) -> None:
    """Ask a question on stderr. Raises Abort unless the answer is yes."""
    click.confirm(printable(question), abort=True, err=True)


def warn(message: str) -> None:
    """Print a line to stderr."""
    say(f"headrace: {message}", err=True)


def warn_of_problems(about: str, problems: Sequence[str]) -> None:
    """Print the first problem, and the number of further problems, to stderr."""
    first, *others = problems
    more = f" ({len(others):,} more; --json lists all)" if others else ""
    warn(f"{about}: {first}{more}")


def read_page(read: Callable[..., T], offset: int, count: int) -> T:
    """Read one page of a list, and print a hint if more rows follow."""
    found = read(offset=offset, count=count)
    if len(found) == count and read(offset=offset + count, count=1):
        say(f"more rows follow; continue with --offset {offset + count}", err=True)
    return found


def pairs(rows: Iterable[tuple[str, object]]) -> None:
    """Print each name and its value on one line; skip empty values."""
    shown = [(name, str(value)) for name, value in rows if value not in (None, "")]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        say(f"  {value}", label=name.ljust(width))


def heading(words: str) -> None:
    """Print an empty line and a heading."""
    say("")
    say("", label=words)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: bool = False) -> None:
    """Print rows as a table.

    On a terminal, long cells wrap. With `cut`, long cells are truncated, so that each row is one
    line. Piped output is never truncated.
    """
    if sys.stdout.isatty():
        from headrace.cli import terminal  # noqa: PLC0415 - rich is loaded only for a terminal

        terminal.table(_printable(columns), list(map(_printable, rows)), cut=cut)
    else:
        for line in aligned(columns, rows):
            say(line)


def _printable(cells: Iterable[object]) -> list[str]:
    return ["" if cell is None else printable(str(cell)) for cell in cells]


def aligned(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table without styles."""
    lines = list(map(_printable, [columns, *rows]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()


def show_rows(
    found: Mapping[str, object],
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
    *,
    cut: bool = False,
) -> None:
    """Print the fields as JSON if --json was passed, otherwise print the rows as a table.

    If there are no rows, prints the sentence `empty`.
    """
    if print_json(found):
        return
    if lines := list(rows):
        table(columns, lines, cut=cut)
    else:
        say(empty)


def histogram(rows: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Draw labelled counts as bars; the longest bar is BAR_WIDTH characters wide."""
    most = max((count for _, count in rows), default=0)
    for label, count in rows:
        bar = "█" * max(round(BAR_WIDTH * count / most), 1) if count else ""
        yield f"{label:>14}  {count:>9,}  {bar}".rstrip()


# Progress


class ProgressLines:
    """Progress as log lines: no line in the first 2 seconds, then a line every 10 seconds."""

    def __init__(
        self, what: str, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._of = "" if total is None else f" of {total:,}"
        self._done = 0
        self._clock = clock
        self._next = clock() + FIRST_LINE_AFTER

    def advance(self, more: int) -> None:
        """Count more finished items, and print a line if the next line is due."""
        self._done += more
        now = self._clock()
        if now >= self._next:
            warn(f"{self._what} {self._done:,}{self._of}")
            self._next = now + LINE_EVERY


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr; yield a function that advances the progress.

    On a terminal, the progress is a bar. Otherwise, the progress is a line every 10 seconds.
    """
    if total == 0:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield ProgressLines(what, total).advance
        return
    from headrace.cli import terminal  # noqa: PLC0415 - rich is loaded only for a terminal

    with terminal.progress_bar() as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)
