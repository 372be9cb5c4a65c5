"""What tests of repeated calls say all the time."""

from __future__ import annotations

from headrace import Client


def sha(calm: Client, op: str) -> str:
    return calm.core.library[op].sha


def happened(calm: Client) -> list[str]:
    """The kinds of all events; the books must balance, and no number be missing."""
    events = list(calm.events())
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert calm.audit().problems == []
    return [event.kind for event in events]
