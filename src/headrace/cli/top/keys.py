"""The keys of `top` and their effect on the state of the view; no terminal is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.cli.top.model import ORDERS
from headrace.operations.snapshot import QUEUES

HELP = (
    ("q", "quit"),
    ("p", "pause and continue the view"),
    ("s", "next sort order"),
    ("up, down", "select a queue"),
    ("enter", "show or hide details of the selected queue"),
    ("left, right", f"previous and next page, with more than {QUEUES} queues"),
    ("?", "show or hide this help"),
)


@dataclass(frozen=True, slots=True)
class ViewState:
    """The user's choices: order, selected queue, page, and switches."""

    order: str = "first use"
    selected: str | None = None
    offset: int = 0
    paused: bool = False
    detail: bool = False
    help: bool = False
    quit: bool = False


def press(state: ViewState, key: str, names: Sequence[str], *, more: bool) -> ViewState:
    """Return the state after a key; `names` are the queues in the order shown."""
    if key == "s":
        orders = list(ORDERS)
        return replace(state, order=orders[(orders.index(state.order) + 1) % len(orders)])
    if key in ("up", "down"):
        return replace(state, selected=_moved(state.selected, names, 1 if key == "down" else -1))
    if key == "right" and more:
        return replace(state, offset=state.offset + QUEUES, selected=None)
    if key == "left":
        return replace(state, offset=max(0, state.offset - QUEUES), selected=None)
    return _toggled(state, key)


def _toggled(state: ViewState, key: str) -> ViewState:
    if key == "q":
        return replace(state, quit=True)
    if key == "p":
        return replace(state, paused=not state.paused)
    if key == "enter":
        return replace(state, detail=not state.detail)
    return replace(state, help=not state.help) if key == "?" else state


def _moved(selected: str | None, names: Sequence[str], step: int) -> str | None:
    if selected not in names:
        return names[0] if names else None
    at = names.index(selected) + step
    return names[min(max(at, 0), len(names) - 1)]


_SEQUENCES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left",
    "\r": "enter", "\n": "enter",
}  # fmt: skip


def parse_keys(typed: str) -> list[str]:
    """Return the keys that a terminal has sent; skip unknown escape sequences."""
    found = []
    while typed:
        name = next((name for name in _SEQUENCES if typed.startswith(name)), typed[0])
        found.append(_SEQUENCES.get(name, name))
        typed = "" if name == "\x1b" else typed[len(name) :]
    return found
