from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.model.feeds.twin import FeedTwin, feed_twin
from tests.model.feeds.walks import WALKS


@pytest.mark.parametrize("way", WALKS, ids=lambda way: way.__name__)
def test_the_server_does_what_the_model_does(url: str, way: Callable[[FeedTwin], None]) -> None:
    with feed_twin(url) as twin:
        way(twin)
