"""Run the tests of feeds on the server of valkey_url, because several tests use this URL."""

from __future__ import annotations

from tests.support.valkey_only import location

__all__ = ["location"]
