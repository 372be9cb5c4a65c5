"""Helpers for tests of repeated calls."""

from __future__ import annotations

from headrace import Client


def sha(calm: Client, op: str) -> str:
    return calm.core.library[op].sha


def happened(calm: Client) -> list[str]:
    """Return the kinds of all events; assert that no number is missing and the books balance."""
    events = list(calm.events())
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert calm.audit().problems == []
    return [event.kind for event in events]
