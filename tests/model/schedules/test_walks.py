"""The walks of walks.py, by the short way of pop and by the long one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.model.jobs.twin import LONG_WAY
from tests.model.schedules.twin import Pair
from tests.model.schedules.walks import WALKS
from tests.proof import proves


@proves("QL-12")
@pytest.mark.parametrize("swaps", [{}, LONG_WAY], ids=["short", "long"])
@pytest.mark.parametrize(("start", "way"), WALKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_walk_goes_as_the_model_goes(
    url: str, start: str, way: Callable[[Pair], None], swaps: dict[str, str]
) -> None:
    pair = Pair(url, start, swaps)
    with pair.hr:
        way(pair)
