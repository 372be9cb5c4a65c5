from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.model.jobs.tour import Tour, walk
from tests.model.jobs.twin import LONG_WAY
from tests.model.jobs.walks import WALKS


@pytest.mark.parametrize("swaps", [{}, LONG_WAY], ids=["short way", "long way"])
@pytest.mark.parametrize("way", WALKS, ids=lambda way: way.__name__)
def test_the_server_does_what_the_model_does(
    url: str, way: Callable[[Tour], None], swaps: dict[str, str]
) -> None:
    walk(url, way, swaps)
