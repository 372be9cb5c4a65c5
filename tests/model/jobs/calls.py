"""Calls of the scripts with the plain values that the model takes as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.engine.call import Call, build, optional, packed, packed_pair
from headrace.engine.script import source
from headrace.operations.putting import Item
from headrace.operations.putting import put_call as put_call_of


def call_of(op: str, each: Sequence[Any], args: dict[str, Any]) -> Call[Any]:
    """Return a call that does not decode its answer."""
    if op == "put":
        return put_call(each, **args)
    if op == "complete":
        each = [(job_id, token, given(result, data)) for job_id, token, result, data in each]
    header = source(f"ops/{op}")
    known = {
        "cascade": False,
        "parents": None,
        "expected": None,
        "state": "",
        "actor": "ada",
        **args,
    }
    fixed = {name.name: encoded(name.kind, known[name.name]) for name in header.args}
    rows = [
        tuple(encoded(name.kind, value) for name, value in zip(header.each, row, strict=True))
        for row in each
    ]
    return build(op, lambda reply: reply, rows, **fixed)


def put_call(
    rows: Sequence[tuple[str, str, str, dict[str, Any]]],
    queue: str,
    on_exists: str | None,
    options: dict[str, Any],
) -> Call[Any]:
    items: list[Item] = [
        (job_id, data.encode(), spare, own) if spare or own else (job_id, data.encode())
        for job_id, spare, data, own in rows
    ]
    call = put_call_of(queue, items, options, on_exists)
    return replace(call, decode=lambda reply: reply)


def given(result: str | None, data: str | None) -> bytes:
    parts = [None if part is None else part.encode() for part in (result, data)]
    return b"" if parts == [None, None] else packed_pair(*parts)


def encoded(kind: str, value: Any) -> Any:
    """Return an argument encoded by its kind in the header of the script."""
    if kind == "optional":
        return optional(value)
    if kind == "packed":
        return packed(value)
    return int(value) if kind == "flag" else value
