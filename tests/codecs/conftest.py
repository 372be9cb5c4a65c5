"""Run the tests of this directory on the server of valkey_url."""

from __future__ import annotations

from tests.support.valkey_only import location

__all__ = ["location"]
