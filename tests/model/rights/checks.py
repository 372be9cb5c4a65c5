"""Checks of a producer: its puts work like those of a worker, but change no existing job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import redis

from headrace import Client, ServerUnavailable
from headrace.engine.call import Call, build
from headrace.operations.putting import put_call
from headrace.operations.requests import unchanged
from headrace.testing import Clock
from tests.model.corruptions import one_in_every_state
from tests.model.harness import Swaps, opened
from tests.model.jobs.checks.hand_over import SECRET
from tests.model.jobs.checks.single_put import OPTIONS, asked, at_the_edge, offered, one, together
from tests.support.channels import listening
from tests.support.dump import Content, dump
from tests.support.roles import opened_as, user_url

LARGE = b"1" * 2000
# Options that only the general path handles.
OTHER_OPTIONS: list[dict[str, Any]] = [
    {"delay": 5000},
    {"unique": "value"},
    {"group": "friends"},
    {"key": "customer", "throttles": ["api", "db"], "result_ttl": 7},
    {"start_within": 9000, "tags": ["a", "b"], "priority": -3, "retries": 1},
]


def put(
    *ids: str, data: bytes = b"1", on_exists: str = "move", others: Any = None, **options: Any
) -> Call[Any]:
    """Return a call that puts jobs under ids that may exist. `others` lists options per job."""
    items: list[Any] = [(job_id, data) for job_id in ids]
    if others:
        items = [(*item, *other) for item, other in zip(items, others, strict=True)]
    return replace(put_call("mail", items, options, on_exists), decode=unchanged)


# puts of a producer have the effect of puts of a worker


def lanes(hr: Client) -> None:
    """Let the queue have lanes, with jobs that are parked at a gate."""
    hr.queue("mail").configure(fair=True, key_concurrency=1)
    hr.throttles.set("api", concurrency=1)
    for number in range(4):
        asked(hr, one("mail", f"lane {number}", b"1", key="customer", throttles=["api"]))
    _, _, *popped = asked(
        hr, build("pop", list, queue="mail", worker="w", secret=SECRET, count=2, lease=-1, offer=0)
    )
    assert len(popped) == 2


PREPARATIONS: dict[str, Callable[[Client], object]] = {
    "new queue": lambda _: None,
    "known queue": lambda hr: asked(hr, together("first")),
    "lanes": lanes,
}


def puts() -> Iterator[Call[Any]]:
    for number, options in enumerate([*OPTIONS, *OTHER_OPTIONS]):
        yield one("mail", f"one {number}", b"1", **options)
        yield together(f"first {number}", f"second {number}", **(options | {"unique": str(number)}))
        yield put(f"given {number}", data=LARGE, **(options | {"unique": f"given {number}"}))
    yield one("mail", "urgent", b"1", key="customer", throttles=["api"], priority=-9)
    yield put("parent", "child", others=[("", {}), ("", {"depends_on": ["parent"]})])


def puts_of_a_producer_have_the_usual_effect(url: str, swaps: Swaps) -> None:
    for prepare in PREPARATIONS.values():
        usual = _after_puts(url, swaps, "worker", prepare)
        assert len([name for name in usual if name.startswith("job:")]) > len(OPTIONS)
        assert _after_puts(url, swaps, "producer", prepare) == usual


def _after_puts(
    url: str, swaps: Swaps, role: str, prepare: Callable[[Client], object]
) -> dict[str, Content]:
    hr, _ = opened(url, swaps)
    with hr, opened_as(role, url, hr) as user:
        prepare(hr)
        with listening(hr, url, "queue:mail") as others:
            for call in puts():
                asked(user, call)
            # A put of a producer does not move the waiting jobs into new lanes. A sweep does.
            hr.sweep()
            told = sum(int(message[5:]) for message in others.messages() if "work" in message)
        assert hr.audit().problems == []
        prefix = hr.core.key(0, "")
        found = {name.removeprefix(prefix): value for name, value in dump(hr).items()}
    return found | {"told": ("notices", told)}


# a producer changes no existing job


@contextmanager
def producing(url: str, swaps: Swaps) -> Iterator[tuple[Client, Clock, Client]]:
    """Yield a client, its clock, and the client of a producer."""
    hr, clock = opened(url, swaps)
    with hr, opened_as("producer", url, hr) as producer:
        yield hr, clock, producer


REFUSED: dict[str, tuple[Call[Any], str]] = {
    "moved": (put("complete"), "JOB_EXISTS complete"),
    "replaced": (put("waiting", on_exists="replace"), "JOB_EXISTS waiting"),
    "rejected": (put("failed", on_exists="reject"), "JOB_EXISTS failed"),
    "same unique value": (put("new", unique="u"), "UNIQUE_TAKEN running running"),
    "replaced by value": (
        put("new", unique="u", on_exists="replace"),
        "UNIQUE_TAKEN running running",
    ),
    "after a job": (put("new", depends_on=["waiting"]), "DEPENDENCY_REFUSED permission"),
    "after a failed job": (
        put("new", depends_on=["failed"], if_fails="cancel"),
        "DEPENDENCY_REFUSED permission",
    ),
    "after a group": (put("new", depends_on=["\0group"]), "DEPENDENCY_REFUSED permission"),
}


def existing_jobs_stay_unchanged(url: str, swaps: Swaps) -> None:
    with producing(url, swaps) as (hr, clock, producer):
        one_in_every_state(hr, clock)
        before = dump(hr)
        for name, (call, refusal) in REFUSED.items():
            assert asked(producer, call) == [refusal.encode()], name
            assert dump(hr) == before, name
        with pytest.raises(ServerUnavailable, match="cancel needs the permissions of a worker"):
            asked(producer, build("cancel", list, [("waiting",)], cascade=0, expected=b""))
        assert dump(hr) == before
        assert asked(producer, put("waiting", on_exists="duplicate", others=[("spare", {})])) == [2]
        assert asked(hr, put("waiting", on_exists="replace")) == [4]
        assert hr.audit().problems == []


def housekeeping_is_left_to_workers(url: str, swaps: Swaps) -> None:
    later = [one("mail", "new", b"1"), together("new", "newer"), put("given", data=LARGE, delay=5)]
    for call in later:
        with producing(url, swaps) as (hr, clock, producer):
            asked(hr, one("mail", "late", b"1", start_within=1000))
            clock.tick(2)
            asked(producer, call)
            assert hr.job("late") is not None
            asked(hr, one("mail", "another", b"1"))
            assert hr.job("late") is None
        with producing(url, swaps) as (hr, clock, producer):
            asked(hr, together("first"))
            at_the_edge(hr, hr.queue("mail"), clock)
            asked(producer, call)
            assert hr.audit().problems == []


def offers_are_left_to_workers(url: str, swaps: Swaps) -> None:
    with producing(url, swaps) as (hr, clock, producer):
        asked(hr, together("first"))
        offered(hr, hr.queue("mail"), clock)
        asked(producer, one("mail", "new", b"1"))
        counts = hr.queue("mail").counts()
        assert (counts.waiting, counts.running) == (1, 1)
        assert [lease.id for lease in hr.queue("mail").pop("w")] == ["new"]
        assert hr.audit().problems == []


# Commands with which a producer may write to the keys of jobs directly, and their arguments.
COMMANDS = (
    ("SETNX", "x"),
    ("MSETNX", "x"),
    ("HSET", "field", "x"),
    ("HINCRBY", "field", 1),
    ("ZADD", 1, "x"),
    ("ZINCRBY", 1, "x"),
    ("XADD", "*", "field", "x"),
)


def commands_of_a_producer_cannot_change_jobs(url: str, swaps: Swaps) -> None:
    with producing(url, swaps) as (hr, clock, _):
        one_in_every_state(hr, clock)
        asked(hr, put("large", data=LARGE))
        with (
            user_url(url, "producer", hr.core.namespace) as own_url,
            redis.Redis.from_url(own_url) as direct,
        ):
            before = dump(hr)
            records = [name for name in before if "}:job:" in name or "}:data:" in name]
            assert len(records) > len(COMMANDS)
            for record in records:
                for command, *words in COMMANDS:
                    _ignore_errors(direct, command, record, *words)
            assert dump(hr) == before


def _ignore_errors(direct: redis.Redis, *words: Any) -> None:
    try:
        direct.execute_command(*words)
    except redis.exceptions.NoPermissionError as error:
        raise AssertionError("the producer needs this command for a put") from error
    except redis.exceptions.ResponseError:
        return
