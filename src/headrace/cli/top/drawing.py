"""Draw the view of `top` for a terminal of a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headrace.cli.output import size, span
from headrace.cli.top.model import HELP, FailureRow, Percentiles, QueueRow, View, ViewState
from headrace.engine.timestamps import moment
from headrace.operations.values import Worker
from headrace.printable import printable

HEADER = 2
LOWEST_WITH_PANELS = 14
PANEL = 6
BARS = " ▁▂▃▄▅▆▇█"
NAME_WIDTH = 24


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _times(found: Percentiles | None) -> str:
    return "-" if found is None else f"<{span(found.p50)} <{span(found.p95)}"


def _ago(seconds: float | None) -> str:
    return "-" if seconds is None else span(seconds)


# For each column title: the width, the rank and the function that formats a cell. If the terminal
# is too narrow, the columns with the highest rank are dropped first.
COLUMNS: dict[str, tuple[int, int, Callable[[QueueRow], str]]] = {
    "waiting": (9, 0, lambda row: f"{row.counts.waiting:,}"),
    "scheduled": (9, 7, lambda row: f"{row.counts.scheduled:,}"),
    "blocked": (8, 9, lambda row: f"{row.counts.blocked:,}"),
    "running": (8, 1, lambda row: f"{row.counts.running:,}"),
    "failed": (8, 3, lambda row: f"{row.counts.failed:,}"),
    "put/s": (8, 4, lambda row: _rate(row.put)),
    "done/s": (8, 2, lambda row: _rate(row.done)),
    "failed/s": (8, 8, lambda row: _rate(row.failed)),
    "wait p50 p95": (14, 6, lambda row: _times(row.wait)),
    "run p50 p95": (14, 10, lambda row: _times(row.run)),
    "oldest": (8, 5, lambda row: _ago(row.oldest)),
}


def visible_rows(view: View, state: ViewState, height: int) -> list[QueueRow]:
    """Return the queues that fit on the screen, including the selected queue."""
    names = [row.name for row in view.rows]
    room = _room(height)
    at = names.index(state.selected) if state.selected in names else 0
    first = max(0, min(at - room // 2, len(names) - room))
    return list(view.rows[first : first + room])


def _room(height: int) -> int:
    taken = HEADER + 2 + (PANEL + 1 if height >= LOWEST_WITH_PANELS else 0)
    return max(1, height - taken)


def frame(
    view: View, state: ViewState, width: int, height: int, *, where: str, trouble: str = ""
) -> RenderableType:
    """Draw the whole screen, or the list of keys."""
    if state.help:
        return _help()
    parts: list[RenderableType] = [
        _header(view, where),
        _status(view, state, width, trouble),
        _queues(visible_rows(view, state, height), state, width),
    ]
    if height >= LOWEST_WITH_PANELS:
        parts.append(_panels(view, state, width))
    return Group(*parts)


def waiting_frame(trouble: str) -> RenderableType:
    """Draw the screen before the first snapshot has arrived."""
    return _line(trouble, "bold red") if trouble else _line("reading the server")


def _line(words: str, style: str = "") -> Text:
    return Text(printable(words), style, no_wrap=True, overflow="ellipsis")


def _header(view: View, where: str) -> Text:
    server = view.server
    nodes = f" on {server.nodes} nodes" if server.nodes > 1 else ""
    limit = f" of {size(server.limit)}" if server.limit else ""
    about = (
        f"{server.version}{nodes}  memory {size(server.memory)}{limit}  "
        f"{server.commands:,} commands/s  {server.clients:,} clients  up {span(server.uptime)}"
        if server.version
        else "no server information: the user lacks the permission +info"
    )
    return _line(f"{where}  {moment(view.at):%H:%M:%S}  {about}", "bold")


def _status(view: View, state: ViewState, width: int, trouble: str) -> Text:
    if trouble:
        return _line(trouble, "bold red")
    now = view.throughput[-1] if view.throughput else None
    words = f"done/s {_rate(now)} "
    end = f"  by {state.order}  {'view paused  ' if state.paused else ''}? help"
    line = _line(words)
    line.append(sparkline(view.throughput, max(0, min(60, width - len(words) - len(end)))), "green")
    line.append(end, "bold yellow" if state.paused else "dim")
    return line


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw the newest values as bars. The highest value is a full bar."""
    shown = values[-width:] if width > 0 else []
    most = max(shown, default=0.0)
    return "".join(BARS[round(value / most * 8) if most else 0] for value in shown)


def _queues(rows: Sequence[QueueRow], state: ViewState, width: int) -> RenderableType:
    titles = fitting(width)
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("queue", ratio=1, no_wrap=True, overflow="ellipsis", min_width=4)
    for title in titles:
        table.add_column(title, width=COLUMNS[title][0], justify="right", no_wrap=True)
    for row in rows:
        name = f"{row.name} (paused)" if row.counts.paused else row.name
        cells = [Text(COLUMNS[title][2](row)) for title in titles]
        plain = "yellow" if row.counts.paused else ""
        style = "reverse" if row.name == state.selected else plain
        table.add_row(Text(printable(name)), *cells, style=style)
    return table if rows else Group(table, _line("no queues yet", "dim"))


def fitting(width: int) -> list[str]:
    """Return the columns that fit into a width. The least important columns are dropped first."""
    left = width - NAME_WIDTH
    chosen = set()
    for title in sorted(COLUMNS, key=lambda title: COLUMNS[title][1]):
        left -= COLUMNS[title][0] + 1
        if left < 0:
            break
        chosen.add(title)
    return [title for title in COLUMNS if title in chosen]


def _panels(view: View, state: ViewState, width: int) -> RenderableType:
    row = next((row for row in view.rows if row.name == state.selected), None)
    if state.detail and row is not None:
        return _detail(row)
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    workers = _workers(view.workers[: PANEL - 1], view.sessions)
    failures = _failures(view.failures[: PANEL - 1])
    if width < 2 * 50:
        grid.add_row(workers if view.workers else failures)
    else:
        grid.add_column(ratio=3)
        grid.add_column(ratio=2)
        grid.add_row(workers, failures)
    return Group("", grid)


def _workers(workers: Sequence[Worker], sessions: int) -> Table:
    table = _panel(f"worker ({sessions})", "host", "queues", "jobs", "since", "left")
    for worker in workers:
        since = f"{worker.started:%m-%d %H:%M}" if worker.started else "-"
        left = "no limit" if worker.expires_in is None else span(worker.expires_in)
        queues = ", ".join(worker.queues)
        cells = (worker.name, worker.about, queues, str(worker.jobs), since, left)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _failures(failures: Sequence[FailureRow]) -> Table:
    table = _panel("failure", "jobs", "newest")
    for one in failures:
        newest = "-" if one.newest is None else f"{span(one.newest)} ago"
        table.add_row(Text(printable(one.type)), f"{one.count:,}", newest)
    return table


def _panel(*titles: str) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), show_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    return table


def _detail(row: QueueRow) -> RenderableType:
    counts = row.counts
    return Group(
        "",
        _line(row.name, "bold"),
        _line(f"put {row.total_put:,} in total, done {row.total_done:,}, kept {counts.complete:,}"),
        _line(f"late {counts.late:,}, due {counts.due:,}, oldest waiting {_ago(row.oldest)}"),
        _line(f"waited {_times(row.wait)}, ran {_times(row.run)} (p50, p95 of the last minute)"),
        _line("paused" if counts.paused else "not paused"),
    )


def _help() -> RenderableType:
    table = Table.grid(padding=(0, 3, 0, 0))
    for key, what in HELP:
        table.add_row(Text(key, "bold"), what)
    return table
