"""The event loop of a worker process."""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Iterator
from contextlib import closing

import pytest

from headrace.worker.event_loop import SELECT_LIMIT, new_event_loop

epoll = pytest.mark.skipif(not hasattr(selectors, "EpollSelector"), reason="no epoll here")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def selector_of(loop: asyncio.AbstractEventLoop) -> selectors.EpollSelector:
    found: selectors.EpollSelector = loop._selector  # type: ignore[attr-defined]
    return found


@epoll
@pytest.mark.parametrize("timeout", [0.0, 0.0004, 0.01, 30.0, None])
def test_ready_file_is_returned_with_any_timeout(
    pipe: tuple[int, int], timeout: float | None
) -> None:
    with closing(new_event_loop()) as loop:
        selector = selector_of(loop)
        selector.register(pipe[0], selectors.EVENT_READ)
        os.write(pipe[1], b".")
        assert pipe[0] in [key.fd for key, _ in selector.select(timeout)]
        selector.unregister(pipe[0])


@epoll
def test_select_returns_after_a_timeout_below_a_millisecond(pipe: tuple[int, int]) -> None:
    with closing(new_event_loop()) as loop:
        selector = selector_of(loop)
        selector.register(pipe[0], selectors.EVENT_READ)
        assert selector.select(0.0001) == []
        selector.unregister(pipe[0])


@epoll
def test_selector_with_a_file_descriptor_beyond_the_select_limit_works(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(new_event_loop()) as loop:
        selector = selector_of(loop)
        monkeypatch.setattr("headrace.worker.event_loop.SELECT_LIMIT", selector.fileno())
        selector.register(pipe[0], selectors.EVENT_READ)
        os.write(pipe[1], b".")
        assert pipe[0] in [key.fd for key, _ in selector.select(0.01)]
        selector.unregister(pipe[0])
    assert SELECT_LIMIT == 1024


def test_sleeps_of_fractions_of_a_millisecond_end_in_order() -> None:
    async def nap(order: list[int], number: int) -> None:
        await asyncio.sleep(number * 0.0003)
        order.append(number)

    async def naps() -> list[int]:
        order: list[int] = []
        await asyncio.gather(*(nap(order, number) for number in (4, 2, 3, 1)))
        return order

    with closing(new_event_loop()) as loop:
        assert loop.run_until_complete(naps()) == [1, 2, 3, 4]


def test_event_loop_of_the_application_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Chosen(asyncio.SelectorEventLoop):
        pass

    monkeypatch.setattr(asyncio, "new_event_loop", Chosen)
    with closing(new_event_loop()) as loop:
        assert type(loop) is Chosen
