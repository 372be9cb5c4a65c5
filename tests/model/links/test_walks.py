from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.model.jobs.twin import LONG_WAY
from tests.model.links.twin import Pair
from tests.model.links.walks import CHECKS, WALKS, walk


@pytest.mark.parametrize("swaps", [{}, LONG_WAY], ids=["short way", "long way"])
@pytest.mark.parametrize("way", WALKS, ids=lambda way: way.__name__)
def test_the_server_does_what_the_model_does(
    url: str, way: Callable[[Pair], None], swaps: dict[str, str]
) -> None:
    walk(url, way, swaps, slow=False)


@pytest.mark.parametrize("way", WALKS, ids=lambda way: way.__name__)
def test_it_does_it_also_in_the_smallest_steps(url: str, way: Callable[[Pair], None]) -> None:
    walk(url, way, {}, slow=True)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_the_model_does_not_know_is_so_too(
    url: str, check: Callable[[str, dict[str, str]], None]
) -> None:
    check(url, {})
