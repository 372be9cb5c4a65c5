"""proves("Q-37"): says which requirements a test shows to hold; `make requirements` lists them."""

from __future__ import annotations

import pytest


def proves(*ids: str) -> pytest.MarkDecorator:
    """Marks a test with the ids of docs/requirements that it proves."""
    return pytest.mark.proves(*ids)
