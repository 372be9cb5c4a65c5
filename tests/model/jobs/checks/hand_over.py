"""A check of direct hand-over, and helpers that offer and put step by step."""

from __future__ import annotations

import math

from headrace import Queue
from headrace.operations.popping import Handout, pop_call
from headrace.operations.putting import put_call
from headrace.operations.requests import ask_one
from headrace.transport.drive import drive
from tests.model.harness import opened
from tests.support.dump import Content, dump

OFFER = 5.0
SECRET = b"secret"


def pop(queue: Queue, worker: str = "w", *, count: int = 1, offer: float = OFFER) -> Handout:
    """Pop for a worker with a session that offers to take more jobs."""
    call = pop_call(queue, worker, count, math.inf, offer)(count)
    call.args = (*call.args[:2], SECRET, *call.args[3:])
    found: Handout = drive(queue.core.transport, ask_one(queue.core, 0, call))
    return found


def put(queue: Queue, job_id: str, data: bytes = b"1") -> None:
    """Put a plain job under a known id, as a client does."""
    call = put_call(queue.name, [(job_id, data)], {})
    assert drive(queue.core.transport, ask_one(queue.core, 0, call)) == [job_id]


def _put_two(queue: Queue) -> None:
    call = put_call(queue.name, [("a", b"1"), ("b", b"2")], {"priority": 1})
    drive(queue.core.transport, ask_one(queue.core, 0, call))


def hand_over_equals_put_and_pop(url: str, swaps: dict[str, str]) -> None:
    """Raise unless a hand-over has the effect of put and pop, and happens once per offer."""
    offered = _after(url, swaps, offer=OFFER)
    assert offered == _after(url, swaps, offer=0)


def _after(url: str, swaps: dict[str, str], *, offer: float) -> list[Content]:
    client, _ = opened(url, swaps)
    with client:
        client.session("w", ttl=10)
        client.session("gone", ttl=10)
        queue = client.queue("mail")
        for job_id in ("first", "second", "third"):
            put(queue, job_id)
            pop(queue, offer=0)
        pop(queue, offer=offer)
        put(queue, "handed")
        if not offer:
            pop(queue, offer=0)
        put(queue, "waits")
        assert queue.counts().waiting == 1
        pop(queue, offer=0)
        pop(queue, "gone", offer=offer)
        client.workers.end("gone")
        put(queue, "not for the dead")
        pop(queue, count=5, offer=0)
        pop(queue, offer=offer)
        _put_two(queue)
        put(queue, "behind the others")
        assert client.audit().balanced
        prefix = client.core.key(0, "")
        seen = {name.removeprefix(prefix): value for name, value in dump(client).items()}
    return [
        value
        for name, value in sorted(seen.items())
        if name.startswith(
            ("job:", "books", "running", "waiting", "held", "events", "stats", "hist")
        )
    ]
