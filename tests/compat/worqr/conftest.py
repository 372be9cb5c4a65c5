"""Worqr instances on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from headrace import Client
from headrace.compat.common import TextCodec
from headrace.compat.worqr import Worqr
from headrace.testing import settable_clock

NEVER = 10**6


@pytest.fixture
def new(url: str, hr: Client) -> Iterator[Callable[..., Worqr]]:
    """Make instances by worker id; unless a test sets an interval, nothing renews the worker."""
    made: list[Worqr] = []
    options: dict[str, Any] = {"namespace": hr.core.namespace, "codec": TextCodec()}
    with headrace.connect(url, **options, library=settable_clock()) as client:

        def make(worker: str = "W1", **given: Any) -> Worqr:
            intervals = {"workerHeartbeatInterval": NEVER, "workerCleanupInterval": NEVER}
            made.append(Worqr(client, workerId=worker, **{**intervals, **given}))
            return made[-1]

        yield make
        for worqr in made:
            worqr.close()


@pytest.fixture
def worqr(new: Callable[..., Worqr]) -> Worqr:
    """An instance whose worker is W1."""
    return new()
