"""Run the tests of feeds on the server of valkey_url, which several tests name themselves."""

from __future__ import annotations

from tests.support.valkey_only import location

__all__ = ["location"]
