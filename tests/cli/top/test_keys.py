"""The keys of `top`."""

from __future__ import annotations

from headrace.cli.top.model import (
    ORDERS,
    ViewState,
    parse_keys,
    press,
)
from headrace.operations.namespace_snapshot import (
    QUEUES,
)


def after(keys: str, names: str = "abc", *, more: bool = False) -> ViewState:
    state = ViewState()
    for key in parse_keys(keys):
        state = press(state, key, list(names), more=more)
    return state


def test_keys_change_the_state() -> None:
    assert after("q").quit
    assert after("p").paused
    assert not after("pp").paused
    assert after("?").help
    assert after("\r").detail
    assert after("s").order == "name"
    assert after("s" * len(ORDERS)).order == "first use"
    assert after("xyz\x1b[5~\x1b") == ViewState()


def test_selection_stays_within_the_list_of_queues() -> None:
    down, up = "\x1b[B", "\x1b[A"

    assert after(down).selected == "a"
    assert after(down * 3).selected == "c"
    assert after(down * 9).selected == "c"
    assert after(down * 3 + up).selected == "b"
    assert after(down + up).selected == "a"
    assert after(down, names="").selected is None


def test_left_and_right_turn_pages() -> None:
    right, left = "\x1b[C", "\x1bOD"

    assert after(right).offset == 0
    assert after(right, more=True).offset == QUEUES
    assert after(right + left, more=True).offset == 0
    assert after(left).offset == 0
