"""What a key does to what is shown. No terminal: a state and a key make the next state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.cli.top.model import ORDERS
from headrace.cli.top.snapshot import QUEUES

HELP = (
    ("q", "quit"),
    ("p", "pause the view, and go on"),
    ("s", "next sort order"),
    ("up, down", "select a queue"),
    ("enter", "more about the selected queue, and back"),
    ("left, right", f"earlier and later queues, where there are more than {QUEUES}"),
    ("?", "this help, and back"),
)


@dataclass(frozen=True, slots=True)
class State:
    """What the user has chosen."""

    order: str = "first use"
    selected: str | None = None
    offset: int = 0
    paused: bool = False
    detail: bool = False
    help: bool = False
    over: bool = False


def pressed(state: State, key: str, names: Sequence[str], *, more: bool) -> State:
    """The state after a key; `names` are the queues in the order that is shown."""
    if key == "s":
        orders = list(ORDERS)
        return replace(state, order=orders[(orders.index(state.order) + 1) % len(orders)])
    if key in ("up", "down"):
        return replace(state, selected=_moved(state.selected, names, 1 if key == "down" else -1))
    if key == "right" and more:
        return replace(state, offset=state.offset + QUEUES, selected=None)
    if key == "left":
        return replace(state, offset=max(0, state.offset - QUEUES), selected=None)
    return _switched(state, key)


def _switched(state: State, key: str) -> State:
    if key == "q":
        return replace(state, over=True)
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


def keys_in(typed: str) -> list[str]:
    """The keys that a terminal has sent; a sequence that is none of ours is passed over."""
    found = []
    while typed:
        name = next((name for name in _SEQUENCES if typed.startswith(name)), typed[0])
        found.append(_SEQUENCES.get(name, name))
        typed = "" if name == "\x1b" else typed[len(name) :]
    return found
