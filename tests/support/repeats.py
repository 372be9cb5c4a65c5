"""Helpers for tests of repeated calls."""

from __future__ import annotations

from typing import Any

from headrace import Client


def mark(client: Any, op: str) -> str:
    """Return a text that is in every call of this operation, and in no call of another.

    The name of an operation may be the beginning of another name, so the end of the line counts.
    """
    name: str = client.core.library.operations[op].name
    return f"{name}\r\n"


def happened(calm: Client) -> list[str]:
    """Return the kinds of the events of jobs and feeds, without events of settings.

    The call also asserts that no event number is missing and that the books balance.
    """
    events = list(calm.events())
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert calm.audit().problems == []
    return [event.kind for event in events if event.kind != "configured"]
