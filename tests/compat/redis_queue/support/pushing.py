"""A producer that uses only Redis list commands."""

from __future__ import annotations

from typing import Any

from headrace import Client


def push(hr: Client, rq: Any, qkey: str, *elements: str | bytes) -> None:
    [length] = hr.core.transport.send([(0, ("LPUSH", rq.ingress(qkey), *elements))])
    assert length >= len(elements)
