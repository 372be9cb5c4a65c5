"""What was found, as tables: the same for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.table import Table

from benchmarks.bars import Bar
from benchmarks.field.contestants import FLOORS, OURS, OURS_LEAN, RIVALS
from benchmarks.field.goals import PURE_PYTHON, SAME_SERVER
from benchmarks.field.results import Results

ORDER = [who.name for who in (OURS, OURS_LEAN, *FLOORS, *RIVALS)]


@dataclass(frozen=True)
class Column:
    """A figure of a part, and how it is written."""

    head: str
    part: str
    figure: str
    form: str = ",.0f"


@dataclass(frozen=True)
class Sheet:
    """A table: a head and rows of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def for_terminal(self) -> Table:
        table = Table(title=self.title, title_justify="left")
        for head in self.head:
            table.add_column(head, no_wrap=not head)
        for row in self.rows:
            table.add_row(*row)
        return table

    def for_markdown(self) -> Iterator[str]:
        yield f"| {' | '.join(self.head)} |"
        yield "|---" * len(self.head) + "|"
        for row in self.rows:
            yield f"| {' | '.join(row)} |"


SHEETS = {
    "Putting": (
        Column("put, jobs/s", "put", "rate"),
        Column("client us", "put", "cpu_us"),
        Column("server us", "put", "server_us"),
        Column("bulk, jobs/s", "bulk", "rate"),
        Column("client us", "bulk", "cpu_us", ".1f"),
        Column("server us", "bulk", "server_us", ".1f"),
        Column("bytes a job", "bytes", "bytes"),
    ),
    "Draining": (
        Column("one process, jobs/s", "drain", "rate"),
        Column("worker us", "drain", "cpu_us"),
        Column("server us", "drain", "server_us"),
        Column("two processes, jobs/s", "drain2", "rate"),
        Column("worker us", "drain2", "cpu_us"),
        Column("server us", "drain2", "server_us"),
    ),
    "Working": (
        Column("latency p50, ms", "latency", "p50", ".2f"),
        Column("p99, ms", "latency", "p99", ".2f"),
        Column("jobs that wait 10 ms, jobs/s", "io", "rate"),
        Column("jobs that compute 50 ms, jobs/s", "cpu", "rate", ".1f"),
    ),
    "Idle": (
        Column("processes", "idle", "processes"),
        Column("Pss, MiB", "idle", "pss_mib"),
        Column("Rss, MiB", "idle", "rss_mib"),
        Column("CPU, %", "idle", "cpu_percent", ".1f"),
    ),
    "A worker is killed": (
        Column("lost", "kill", "lost"),
        Column("doubled", "kill", "doubled"),
        Column("at work", "kill", "in_flight"),
        Column("until these run again, s", "kill", "again_s", ".1f"),
        Column("until all is done, s", "kill", "done_s", ".1f"),
    ),
    "A million wait": (
        Column("drain of the first 20,000, jobs/s", "backlog", "many"),
        Column("beside 20,000 alone", "backlog", "few"),
    ),
}


def sheets(results: Results) -> Iterator[Sheet]:
    """All tables that have a row."""
    for title, columns in SHEETS.items():
        found = sheet(results, title, columns)
        if found.rows:
            yield found
    if results.bars:
        yield bars(results.judged())


def sheet(results: Results, title: str, columns: Iterable[Column]) -> Sheet:
    """A row for each who has one of these figures, a dash where there is none."""
    columns = tuple(columns)
    there = {name for column in columns for name in results.names(column.part)}
    rows = (
        (name, *(cell(results, name, column) for column in columns))
        for name in ORDER
        if name in there
    )
    return Sheet(title, ("", *(column.head for column in columns)), tuple(dict.fromkeys(rows)))


def cell(results: Results, who: str, column: Column) -> str:
    found = results.median(column.part, who, column.figure)
    return "-" if found is None else format(found, column.form)


def bars(judged: Iterable[Bar]) -> Sheet:
    rows = tuple((bar.name, found(bar), limit(bar), bar.verdict) for bar in judged)
    return Sheet("Bars", ("bar", "found", "must be", ""), rows)


def found(bar: Bar) -> str:
    return "-" if bar.found is None else f"{bar.found:.2f} {bar.unit}"


def limit(bar: Bar) -> str:
    return f"{'at least' if bar.at_least else 'at most'} {bar.limit:g} {bar.unit}"


def page(results: Results) -> Iterator[str]:
    """All of a run as a page of its own."""
    yield from (f"# The field, {results.day}", "", *about(results), "")
    yield from (f"![the field]({results.day}.png)", "")
    yield from markdown(results)


def about(results: Results) -> Iterator[str]:
    """On what machine, with what versions."""
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    yield (
        f"Measured on {results.day}: {machine['cores']} cores, {machine['server']}, "
        f"Python {machine['python']}, Node {machine['node']}; {versions}."
    )
    for part, at in results.again.items():
        yield f"Measured anew in a run of its own, everybody in turn, until {at}: {part}."


def markdown(results: Results) -> Iterator[str]:
    """The tables of a run, and what is not in them."""
    for each in sheets(results):
        yield from (f"### {each.title}", "")
        yield from each.for_markdown()
        yield ""
    yield from missing(results)


def missing(results: Results) -> Iterator[str]:
    if results.missing:
        yield from ("### Not measured", "")
        for what, why in results.missing.items():
            yield f"- {what}: {' '.join(why.split())}"
        yield ""


SUMMARY = (
    Column("put one at a time, jobs/s", "put", "rate"),
    Column("put in bulk, jobs/s", "bulk", "rate"),
    Column("drain, one process, jobs/s", "drain", "rate"),
    Column("drain, two processes, jobs/s", "drain2", "rate"),
    Column("from put to start when idle, p50, ms", "latency", "p50", ".2f"),
    Column("jobs that wait 10 ms, 100 at once, jobs/s", "io", "rate"),
    Column("a waiting job on the server, bytes", "bytes", "bytes"),
    Column("killed worker: until its jobs run again, s", "kill", "again_s", ".1f"),
)


def summary(results: Results) -> Sheet:
    """Ours beside the best of the others, in a few lines."""
    head = ("", "Headrace", "the best for Node, or with a core in Rust", "the best in pure Python")
    rows = (
        (
            column.head,
            cell(results, OURS.name, column),
            best(results, column, SAME_SERVER - PURE_PYTHON),
            best(results, column, PURE_PYTHON),
        )
        for column in SUMMARY
    )
    return Sheet("", head, tuple(rows))


def best(results: Results, column: Column, among: frozenset[str]) -> str:
    """The best figure among these, and whose it is; who loses jobs is not the soonest."""
    figures = {
        name: found
        for name in results.names(column.part)
        if name in among and not results.median(column.part, name, "lost")
        if (found := results.median(column.part, name, column.figure)) is not None
    }
    if not figures:
        return "-"
    chosen = max if column.figure == "rate" else min
    name = chosen(figures, key=lambda who: figures[who])
    return f"{format(figures[name], column.form)} ({name})"
