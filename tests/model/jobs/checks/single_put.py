"""A check of puts of one job, which have their own short path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Client, Queue
from headrace.engine import keys
from headrace.engine.call import Call, build, packed
from headrace.operations.popping import pop_call
from headrace.operations.putting import put_call
from headrace.operations.requests import ask_one, unchanged
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.model.harness import GENERAL_PATH, opened
from tests.model.jobs.checks.hand_over import SECRET, pop
from tests.support.channels import listening
from tests.support.dump import Content, dump

# Once per 1024 events, the general path checks whether the log must be trimmed.
EDGE = 1024

# Around these numbers and sizes, the packed form of a number or of a payload changes.
NUMBERS = (2**7, 2**8, 2**16, 2**32)
SIZES = (0, 31, 32, 33, 32, 255, 256, 1024)

Prepare = Callable[[Client, Queue, Clock], object]


# Options that the short path handles, and others that it must leave to the general path.
OPTIONS: list[dict[str, Any]] = [
    {"priority": 5},
    {"priority": -0.5},
    {"retries": 3},
    {"retries": 0},
    {"retries": False},
    {"tags": ["mail", "nightly"]},
    {"tags": []},
    {"priority": 7, "retries": 1, "tags": ["mail"]},
    {"delay": 1000, "priority": 5},
    {"key": "customer", "tags": ["mail"]},
    {"key": "customer"},
    {"key": "customer", "priority": -1, "retries": 2},
    {"key": "other", "priority": 3},
    {"key": "other", "throttles": ["smtp"]},
    {"start_within": 1000, "retries": 2},
]


def one(queue: str, job_id: str, data: bytes, **options: Any) -> Call[Any]:
    return build("put", unchanged, [(job_id, data)], queue=queue, options=packed(options))


def together(*job_ids: str, **options: Any) -> Call[Any]:
    return put_call("mail", [(job_id, b"1") for job_id in job_ids], options)


def asked(hr: Client, call: Call[Any]) -> Any:
    return drive(hr.core.transport, ask_one(hr.core, 0, call))


def put_one(hr: Client, job_id: str = "new", data: bytes = b"1") -> int:
    """Put a job; return 1, or 0 if the job existed."""
    reply = asked(hr, one("mail", job_id, data))
    return int(reply if isinstance(reply, int) else reply[0])


def at_the_edge(hr: Client, _queue: Queue, _clock: Clock) -> None:
    hr.config.set("events_count", 100)
    asked(hr, together(*(f"old {n}" for n in range(EDGE - 1 - len(list(hr.events()))))))


def due(hr: Client, _queue: Queue, clock: Clock) -> None:
    asked(hr, put_call("mail", [("x", b"1")], {"start_within": 1000}))
    clock.tick(1)


def in_lanes(**settings: Any) -> Prepare:
    def prepare(hr: Client, queue: Queue, _clock: Clock) -> None:
        queue.configure(**settings)
        # The next put moves the jobs that already wait into lanes.
        asked(hr, together("second"))

    return prepare


def offered(hr: Client, queue: Queue, _clock: Clock) -> None:
    hr.session("w", ttl=3)
    pop(queue)
    assert pop(queue).jobs == []


# In these cases, a put needs the general path, or housekeeping after the short path.
CASES: dict[str, Prepare] = {
    "the queue is new": lambda _hr, queue, _clock: queue.delete(),
    "the log is to be trimmed": at_the_edge,
    "a task of the agenda is due": due,
    "the clock was set back": lambda _hr, _queue, clock: clock.tick(-60),
    "keys have limits": in_lanes(key_concurrency=5),
    "keys take turns": in_lanes(fair=True),
}


def equals_the_general_path(url: str, swaps: dict[str, str], case: str) -> None:
    """Raise unless a put leaves the same keys and notices as the general path in this case."""
    new = one("mail", "new", b"1")
    general = _after(url, {**swaps, **GENERAL_PATH}, [new], CASES[case])
    assert "job:new" in general
    assert _after(url, swaps, [new], CASES[case]) == general


def options_equal_the_general_path(url: str, swaps: dict[str, str]) -> None:
    """Raise unless puts with options, single and in bulk, write the keys of the general path."""
    large = b"1" * 20_000
    singles = [one("mail", f"job {n}", b"1", **options) for n, options in enumerate(OPTIONS)]
    singles.append(one("mail", "large", large, tags=["mail"], priority=1))
    pairs = [together(f"a {n}", f"b {n}", **options) for n, options in enumerate(OPTIONS)]
    for calls in (singles, pairs):
        for prepare in (without_payloads, in_lanes(fair=True), with_a_parked_lane):
            general = _after(url, {**swaps, **GENERAL_PATH}, calls, prepare)
            assert _after(url, swaps, calls, prepare) == general


def batches_equal_the_general_path(url: str, swaps: dict[str, str]) -> None:
    """Raise unless a batch leaves the keys of the general path around the edges of packed forms."""
    rows = [(f"job {n}", b"x" * size) for n, size in enumerate(SIZES)]
    for number in NUMBERS:
        for options in ({}, {"priority": 5, "tags": ["mail"], "key": "customer"}):
            batch, before = put_call("mail", rows, options), next_number(number - len(SIZES) // 2)
            general = _after(url, {**swaps, **GENERAL_PATH}, [batch], before)
            assert _after(url, swaps, [batch], before) == general


def next_number(number: int) -> Prepare:
    """Return a step that gives the next event this number."""

    def prepare(hr: Client, _queue: Queue, _clock: Clock) -> None:
        hr.core.transport.send([(0, ("HSET", hr.core.key(0, keys.LOG), "number", number - 1))])

    return prepare


def without_payloads(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.configure(event_data=0, retries=4)


def with_a_parked_lane(hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.configure(key_concurrency=1)
    asked(hr, together("running", "parked", key="customer"))
    taking = pop_call(queue, "w", 9, 60)(9)
    taking.args = (*taking.args[:2], SECRET, *taking.args[3:])
    assert len(asked(hr, taking).jobs) == 2


def takes_up_an_offer(hr: Client, clock: Clock) -> None:
    """Raise unless a single put hands its job to a worker that has made an offer."""
    queue = hr.queue("mail")
    offered(hr, queue, clock)
    assert put_one(hr) == 1
    counts = queue.counts()
    assert (counts.waiting, counts.running) == (0, 2)


def changes_nothing_if_the_job_exists(hr: Client, clock: Clock) -> None:
    """Raise if a put that arrives late changes a job that a worker holds, even with an offer."""
    assert put_one(hr) == 1
    hr.queue("mail").pop("w", count=9)
    for prepare in (lambda *_: None, offered):
        prepare(hr, hr.queue("mail"), clock)
        before = dump(hr)
        assert put_one(hr) == 0
        assert dump(hr) == before


def single_puts_equal_a_bulk_put(url: str, swaps: dict[str, str]) -> None:
    """Raise unless single puts have the effect of a bulk put, also in the special cases."""
    one_by_one = [one("mail", f"job {n}", b"1") for n in range(3)]
    at_once = [together(*(f"job {n}" for n in range(3)))]
    assert _after(url, swaps, one_by_one) == _after(url, swaps, at_once)
    for case in CASES:
        equals_the_general_path(url, swaps, case)
    options_equal_the_general_path(url, swaps)
    batches_equal_the_general_path(url, swaps)
    for check in (takes_up_an_offer, changes_nothing_if_the_job_exists):
        client, clock = opened(url, swaps)
        with client:
            asked(client, together("first"))
            check(client, clock)


def _after(
    url: str, swaps: dict[str, str], calls: list[Call[Any]], prepare: Prepare | None = None
) -> dict[str, Content]:
    client, clock = opened(url, swaps)
    with client:
        asked(client, together("first"))
        if prepare:
            prepare(client, client.queue("mail"), clock)
        with listening(client, url, "queue:mail") as others:
            for call in calls:
                asked(client, call)
            told = sum(int(message[5:]) for message in others.messages() if "work" in message)
        prefix = client.core.key(0, "")
        seen = {name.removeprefix(prefix): value for name, value in dump(client).items()}
    return seen | {"told": ("notices", told)}
