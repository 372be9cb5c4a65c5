"""How `top` draws a view."""

from __future__ import annotations

import pytest
from rich.console import Console

from headrace import Counts, Worker
from headrace.cli.top.drawing import fitting, frame, sparkline, visible_rows
from headrace.cli.top.model import ViewState
from headrace.operations.namespace_snapshot import (
    FailureCount,
    NamespaceSnapshot,
    QueueSnapshot,
)
from tests.cli.support.views import SERVER, at, queue, totals, view_of

WORKER = Worker("ann", 2.5, None, "host-1 pid 7", ["mail", "post"], 4)


BUSY = NamespaceSnapshot(
    61_000,
    SERVER,
    {
        "mail": QueueSnapshot(
            Counts(1234, 5, 6, 7, 8, 9, 0, 0, paused=False),
            {"put": 500, "complete": 400},
            totals(0, 3, {"s0": 9}, {"s2": 9}),
            front=1000,
        ),
        "post": QueueSnapshot(Counts(1, 0, 0, 0, 0, 0, 0, 0, paused=True), {"put": 1}),
    },
    workers=[WORKER],
    sessions=1,
    failures=[FailureCount("smtp", 8, 31_000)],
)


EARLIER = NamespaceSnapshot(
    60_000, SERVER, {"mail": queue(480, 390, day=totals(0, 1, {}, {})), "post": queue()}
)


def drawn(
    state: ViewState | None = None, width: int = 150, height: int = 30, trouble: str = ""
) -> list[str]:
    console = Console(width=width, height=height, record=True, quiet=True, color_system=None)
    view = view_of(EARLIER, BUSY)
    picture = frame(view, state or ViewState(), width, height, where="shop", trouble=trouble)
    with console.capture() as captured:
        console.quiet = False
        console.print(picture)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_wide_terminal_shows_everything() -> None:
    text = "\n".join(drawn())

    assert "shop  00:01:01  Valkey 9.1.2  memory 2 MB of 8 MB  12 commands/s  3 clients" in text
    [mail] = [line.split() for line in drawn() if line.startswith("mail")]
    assert mail == [
        "mail", "1,234", "5", "6", "7", "8", "20.0", "10.0", "2.0",
        "<1", "s", "<1", "s", "<3", "s", "<3", "s", "60", "s",
    ]  # fmt: skip
    assert "post (paused)" in text
    assert "ann" in text
    assert "host-1 pid 7" in text
    assert "2.5 s" in text
    [smtp] = [line for line in drawn() if "smtp" in line]
    assert smtp.endswith("30 s ago")


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 100, 200])
@pytest.mark.parametrize("height", [1, 3, 8, 14, 50])
def test_any_size_can_be_drawn(width: int, height: int) -> None:
    lines = drawn(ViewState(selected="post", detail=True), width, height)

    assert max(map(len, lines)) <= width
    if width >= 20:
        assert any(line.startswith(("mail", "post")) for line in lines)
    if width >= 40 and height >= 8:
        assert len(lines) <= height


def test_narrow_terminal_drops_columns() -> None:
    assert fitting(20) == []
    assert fitting(34) == ["waiting"]
    assert fitting(52) == ["waiting", "running", "done/s"]
    assert len(fitting(150)) == 11


def test_lost_connection_is_shown_above_the_last_view() -> None:
    lines = drawn(trouble="it is gone")

    assert lines[1] == "it is gone"
    assert any(line.startswith("mail") for line in lines)


def test_selected_queue_is_visible() -> None:
    names = [f"queue-{number}" for number in range(100)]
    view = view_of(at(1, **{name: queue() for name in names}))

    def shown(selected: str | None) -> list[str]:
        return [row.name for row in visible_rows(view, ViewState(selected=selected), 21)]

    assert shown(None) == names[:10]
    assert shown("queue-0") == names[:10]
    assert "queue-50" in shown("queue-50")
    assert shown("queue-99") == names[90:]


def test_control_characters_in_queue_names_are_escaped() -> None:
    view = view_of(at(1, **{"\x9b31m[red]x": queue()}))
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(frame(view, ViewState(), 80, 24, where="shop"))

    assert r"\x9b31m[red]x" in captured.get()


def test_sparkline_ends_with_the_newest_value() -> None:
    assert sparkline([8, 4, 0, 1], 10) == "█▄ ▁"
    assert sparkline([8, 4, 0, 1], 2) == " █"
    assert sparkline([0, 0], 2) == "  "
    assert sparkline([1], 0) == ""
