"""Feeds are tested on the server of valkey_url, which several tests name themselves."""

from __future__ import annotations

import pytest

from tests.support.clients import Place


@pytest.fixture
def place(valkey_url: str) -> Place:
    return Place(valkey_url)
