"""Feeds are tested on the server of valkey_url, which several tests name themselves."""

from __future__ import annotations

import pytest

from tests.support.clients import Location


@pytest.fixture
def location(valkey_url: str) -> Location:
    return Location(valkey_url)
