"""A check of put_one, which puts one plain job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Client, Queue
from headrace.engine.call import Call, build
from headrace.operations.putting import put_call
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.model.harness import opened
from tests.model.jobs.checks.hand_over import pop
from tests.support.channels import listening
from tests.support.dump import Content, dump

# Every 1024 events the log may need trimming, which put does.
EDGE = 1024


def one(queue: str, job_id: str, data: bytes) -> Call[int]:
    return build("put_one", int, queue=queue, id=job_id, data=data)


def asked(hr: Client, call: Call[Any]) -> Any:
    return drive(hr.core.transport, ask_one(hr.core, 0, call))


def put_one(hr: Client, job_id: str = "new", data: bytes = b"1") -> int:
    return int(asked(hr, one("mail", job_id, data)))


def at_the_edge(hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.put_many([1] * (EDGE - 1 - len(list(hr.events()))))


def due(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put("x", start_within=1)
    clock.tick(1)


def offered(hr: Client, queue: Queue, _clock: Clock) -> None:
    hr.session("w", ttl=3)
    queue.pop("w")
    assert pop(queue).jobs == []


NOT_NOW: dict[str, tuple[int, Callable[[Client, Queue, Clock], object]]] = {
    "the queue is new": (0, lambda _hr, queue, _clock: queue.delete()),
    "the log is to be trimmed": (0, at_the_edge),
    "something is due": (0, due),
    "the clock was set back": (0, lambda _hr, _queue, clock: clock.tick(-60)),
    "keys have limits": (-1, lambda _hr, queue, _clock: queue.configure(key_concurrency=5)),
    "keys take turns": (-1, lambda _hr, queue, _clock: queue.configure(fair=True)),
    "a worker would take it": (2, offered),
}


def changes_nothing(hr: Client, clock: Clock, case: str) -> None:
    """Raise unless put_one gives the expected answer in this case, and changes nothing."""
    answer, prepare = NOT_NOW[case]
    prepare(hr, hr.queue("mail"), clock)
    before = dump(hr)
    assert put_one(hr) == answer
    assert dump(hr) == before


def single_puts_equal_a_bulk_put(url: str, swaps: dict[str, str]) -> None:
    """Raise unless single puts have the effect of a bulk put, and refuse the other cases."""
    one_by_one = [one("mail", f"job {n}", b"1") for n in range(3)]
    together = put_call("mail", [(f"job {n}", b"1") for n in range(3)], b"", None, "")
    assert _after(url, swaps, one_by_one) == _after(url, swaps, [together])
    for case in NOT_NOW:
        client, clock = opened(url, swaps)
        with client:
            client.queue("mail").put("first", id="first")
            changes_nothing(client, clock, case)


def _after(url: str, swaps: dict[str, str], calls: list[Call[Any]]) -> dict[str, Content]:
    client, _ = opened(url, swaps)
    with client:
        asked(client, put_call("mail", [("first", b"1")], b"", None, ""))
        with listening(client, url, "queue:mail") as others:
            for call in calls:
                asked(client, call)
            told = sum(int(message[5:]) for message in others.messages() if "work" in message)
        prefix = client.core.key(0, "")
        seen = {name.removeprefix(prefix): value for name, value in dump(client).items()}
    return seen | {"told": ("notices", told)}
