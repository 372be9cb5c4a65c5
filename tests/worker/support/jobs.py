"""Popped jobs without a server."""

from __future__ import annotations

from typing import Any

from headrace.engine.record import Record
from headrace.operations.popping import Popped


def popped(*outcomes: str, name: str = "x") -> Popped:
    """Return a popped job whose earlier attempts had these outcomes."""
    history: list[list[Any]] = [["q", 0, 0, 0, "w", outcome, "", ""] for outcome in outcomes]
    fields: dict[str, Any] = dict.fromkeys(Record.__struct_fields__, 0)
    record = Record(**fields | {"attempt": len(outcomes) + 1, "history": history or False})
    return Popped(name, record, b"", b"")
