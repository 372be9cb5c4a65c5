"""The results as tables, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.table import Table

from benchmarks.comparison.competitors import BASELINES, COMPETITORS, HEADRACE, HEADRACE_LEAN
from benchmarks.comparison.results import Results
from benchmarks.comparison.targets import PURE_PYTHON, SAME_SERVER
from benchmarks.targets import Target

ORDER = [competitor.name for competitor in (HEADRACE, HEADRACE_LEAN, *BASELINES, *COMPETITORS)]


@dataclass(frozen=True)
class Column:
    """A figure of a workload and its format."""

    head: str
    workload: str
    figure: str
    form: str = ",.0f"


@dataclass(frozen=True)
class Sheet:
    """A table: a title, a header and rows of text."""

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
    "Put": (
        Column("put, jobs/s", "put", "rate"),
        Column("client us", "put", "cpu_us"),
        Column("server us", "put", "server_us"),
        Column("bulk, jobs/s", "bulk", "rate"),
        Column("client us", "bulk", "cpu_us", ".1f"),
        Column("server us", "bulk", "server_us", ".1f"),
        Column("bytes per job", "bytes", "bytes"),
    ),
    "Drain": (
        Column("one process, jobs/s", "drain", "rate"),
        Column("worker us", "drain", "cpu_us"),
        Column("server us", "drain", "server_us"),
        Column("two processes, jobs/s", "drain2", "rate"),
        Column("worker us", "drain2", "cpu_us"),
        Column("server us", "drain2", "server_us"),
    ),
    "Latency and running jobs": (
        Column("latency p50, ms", "latency", "p50", ".2f"),
        Column("p99, ms", "latency", "p99", ".2f"),
        Column("jobs that wait 10 ms, jobs/s", "io", "rate"),
        Column("jobs that compute 50 ms, jobs/s", "cpu", "rate", ".1f"),
    ),
    "Idle worker": (
        Column("processes", "idle", "processes"),
        Column("Pss, MiB", "idle", "pss_mib"),
        Column("Rss, MiB", "idle", "rss_mib"),
        Column("CPU, %", "idle", "cpu_percent", ".1f"),
    ),
    "Killed worker": (
        Column("lost", "kill", "lost"),
        Column("run twice", "kill", "doubled"),
        Column("interrupted", "kill", "in_flight"),
        Column("until they run again, s", "kill", "again_s", ".1f"),
        Column("until all are done, s", "kill", "done_s", ".1f"),
    ),
    "A million waiting jobs": (
        Column("drain of the first 20,000, jobs/s", "backlog", "many"),
        Column("20,000 alone, jobs/s", "backlog", "few"),
    ),
}


def sheets(results: Results) -> Iterator[Sheet]:
    """Yield all tables that have a row."""
    for title, columns in SHEETS.items():
        found = sheet(results, title, columns)
        if found.rows:
            yield found
    if results.bars:
        yield targets(results.judged())


def sheet(results: Results, title: str, columns: Iterable[Column]) -> Sheet:
    """Return a table with a row per competitor; a missing figure is a dash."""
    columns = tuple(columns)
    there = {name for column in columns for name in results.names(column.workload)}
    rows = (
        (name, *(cell(results, name, column) for column in columns))
        for name in ORDER
        if name in there
    )
    return Sheet(title, ("", *(column.head for column in columns)), tuple(dict.fromkeys(rows)))


def cell(results: Results, competitor: str, column: Column) -> str:
    found = results.median(column.workload, competitor, column.figure)
    return "-" if found is None else format(found, column.form)


def targets(judged: Iterable[Target]) -> Sheet:
    rows = tuple((each.name, measured(each), limit(each), each.verdict) for each in judged)
    return Sheet("Targets", ("target", "measured", "limit", ""), rows)


def measured(target: Target) -> str:
    return "-" if target.found is None else f"{target.found:.2f} {target.unit}"


def limit(target: Target) -> str:
    return f"{'at least' if target.at_least else 'at most'} {target.limit:g} {target.unit}"


def page(results: Results) -> Iterator[str]:
    """Yield a whole run as a Markdown page."""
    yield from (f"# Comparison, {results.day}", "", *about(results), "")
    yield from (f"![comparison]({results.day}.png)", "")
    yield from markdown(results)


def about(results: Results) -> Iterator[str]:
    """Yield the machine and the versions of a run."""
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    yield (
        f"Measured on {results.day}: {machine['cores']} cores, {machine['server']}, "
        f"Python {machine['python']}, Node {machine['node']}; {versions}."
    )
    for workload, at in results.again.items():
        yield (
            f"The workload {workload} was measured again with all competitors, in a run that ended "
            f"at {at}."
        )


def markdown(results: Results) -> Iterator[str]:
    """Yield the tables of a run and the list of missing figures."""
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
    Column("latency from put to start, idle worker, p50, ms", "latency", "p50", ".2f"),
    Column("jobs that wait 10 ms, 100 at once, jobs/s", "io", "rate"),
    Column("a waiting job on the server, bytes", "bytes", "bytes"),
    Column("killed worker: time until its jobs run again, s", "kill", "again_s", ".1f"),
)


def summary(results: Results) -> Sheet:
    """Return a short table of Headrace and the best competitors."""
    head = ("", "Headrace", "best queue for Node or with a Rust core", "best pure Python queue")
    rows = (
        (
            column.head,
            cell(results, HEADRACE.name, column),
            best(results, column, SAME_SERVER - PURE_PYTHON),
            best(results, column, PURE_PYTHON),
        )
        for column in SUMMARY
    )
    return Sheet("", head, tuple(rows))


def best(results: Results, column: Column, among: frozenset[str]) -> str:
    """Return the best figure and its competitor; competitors that lost jobs do not count."""
    figures = {
        name: found
        for name in results.names(column.workload)
        if name in among and not results.median(column.workload, name, "lost")
        if (found := results.median(column.workload, name, column.figure)) is not None
    }
    if not figures:
        return "-"
    chosen = max if column.figure == "rate" else min
    name = chosen(figures, key=lambda competitor: figures[competitor])
    return f"{format(figures[name], column.form)} ({name})"
