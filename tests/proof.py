"""The mark proves("Q-37"), which names the requirements that a test proves."""

from __future__ import annotations

import pytest


def proves(*ids: str) -> pytest.MarkDecorator:
    """Mark a test with the ids of docs/requirements that it proves."""
    return pytest.mark.proves(*ids)
