"""Ways to break a namespace by hand, one structure each, and whom the audit must then name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headrace import Client
from headrace.engine.record import FIELDS, STATE_NUMBERS
from headrace.testing import Clock
from headrace.transport.transport import Words


def one_in_every_state(hr: Client, clock: Clock) -> None:
    """A queue with a job in every state, each named for it; ada holds the running one."""
    queue = hr.queue("mail")
    hr.session("ada", ttl=None)
    clock.tick(1)
    for name in ("complete", "failed"):
        queue.put(name, id=name)
    queue.put("running", id="running", unique="u", tags=["vip"])
    hr.tracking.add("running")
    complete, failed, _ = queue.pop("ada", count=3)
    complete.complete()
    failed.fail("io", "no route")
    queue.put("scheduled", id="scheduled", delay=60)
    queue.put("waiting", id="waiting", priority=2, group="group")
    queue.put("blocked", id="blocked", depends_on=["waiting"])
    hr.group("group").then("mail", "callback", id="callback")
    clock.tick(1)


@dataclass(frozen=True, slots=True)
class Breakage:
    """What is broken, how, and what an audit that notices it says."""

    name: str
    commands: Callable[[Client], Sequence[Words]]
    named: str

    def __str__(self) -> str:
        return self.name

    def inflict(self, hr: Client) -> None:
        """Does it."""
        for reply in hr.core.transport.send([(0, words) for words in self.commands(hr)]):
            assert reply not in (0, None), f"{self.name}: nothing was broken"
            assert not isinstance(reply, Exception), reply


def missing_member(state: str) -> Breakage:
    def commands(hr: Client) -> list[Words]:
        return [("ZREM", hr.core.key(0, f"{state}:mail"), _member(hr, state))]

    return Breakage(f"the {state} job is not listed", commands, f"job {state!r}")


def missing_record(state: str) -> Breakage:
    return Breakage(
        f"the {state} job has no record",
        lambda hr: [("DEL", hr.core.key(0, f"job:{state}"))],
        f"job {state!r}",
    )


def other_record(state: str, field: str, value: object) -> Breakage:
    def commands(hr: Client) -> list[Words]:
        key = hr.core.key(0, f"job:{state}")
        record: list[Any] = msgspec.msgpack.decode(_send(hr, "GET", key))
        record[FIELDS.index(field)] = value
        return [("SET", key, msgspec.msgpack.encode(record))]

    return Breakage(f"the {state} job says {field} {value}", commands, f"job {state!r}")


def counter(name: str) -> Breakage:
    return Breakage(
        f"one {name} too many in the books",
        lambda hr: [("HINCRBY", hr.core.key(0, "books:mail"), name, 1)],
        "queue 'mail'",
    )


def _member(hr: Client, state: str) -> bytes:
    [member] = _send(hr, "ZRANGE", hr.core.key(0, f"{state}:mail"), 0, 0)
    return bytes(member)


def _send(hr: Client, *words: str | bytes | int) -> Any:
    [reply] = hr.core.transport.send([(0, words)])
    assert not isinstance(reply, Exception), reply
    return reply


STATES = ("waiting", "scheduled", "blocked", "running", "failed", "complete")

BREAKAGES = [
    *map(missing_member, STATES),
    *map(missing_record, STATES),
    *(counter(name) for name in (*STATES, "put", "moved", "cancelled", "expired", "pruned")),
    other_record("waiting", "state", STATE_NUMBERS["failed"]),
    other_record("running", "state", STATE_NUMBERS["waiting"]),
    other_record("complete", "state", STATE_NUMBERS["running"]),
    other_record("scheduled", "queue", "post"),
    other_record("waiting", "seq", 1),
    Breakage(
        "nobody holds the running job",
        lambda hr: [("ZREM", hr.core.key(0, "held:ada"), b"mail\0running")],
        "job 'running'",
    ),
    Breakage(
        "the failed job is not listed under its type",
        lambda hr: [("ZREM", hr.core.key(0, "failures:io"), "failed")],
        "job 'failed'",
    ),
    Breakage(
        "the waiting job waits at another place",
        lambda hr: [("ZADD", hr.core.key(0, "waiting:mail"), "CH", 3, _member(hr, "waiting"))],
        "job 'waiting'",
    ),
    Breakage(
        "the waiting job is scheduled as well",
        lambda hr: [("ZADD", hr.core.key(0, "scheduled:mail"), 1, "waiting")],
        "job 'waiting'",
    ),
    Breakage(
        "the blocked job depends on nothing",
        lambda hr: [
            ("DEL", hr.core.key(0, "depends:blocked")),
            ("DEL", hr.core.key(0, "dependents:wait:waiting")),
        ],
        "job 'blocked'",
    ),
    Breakage(
        "nobody knows that the blocked job depends on him",
        lambda hr: [("DEL", hr.core.key(0, "dependents:wait:waiting"))],
        "job 'blocked'",
    ),
    Breakage(
        "the blocked job depends on another number",
        lambda hr: [("ZADD", hr.core.key(0, "depends:blocked"), "CH", 1, "waiting")],
        "job 'blocked'",
    ),
    Breakage(
        "the blocked job waits for what is complete",
        lambda hr: [
            ("ZADD", hr.core.key(0, "depends:blocked"), 1, "complete"),
            ("ZADD", hr.core.key(0, "dependents:wait:complete"), 1, "blocked"),
        ],
        "job 'blocked'",
    ),
    Breakage(
        "somebody is said to depend who never was",
        lambda hr: [("ZADD", hr.core.key(0, "dependents:fail:waiting"), 1, "ghost")],
        "job 'ghost'",
    ),
    Breakage(
        "the waiting job is not in its group",
        lambda hr: [("DEL", hr.core.key(0, "group:group"))],
        "job 'waiting'",
    ),
    Breakage(
        "the waiting job is failed in its group",
        lambda hr: [("ZADD", hr.core.key(0, "group:group"), "CH", 1, "waiting")],
        "job 'waiting'",
    ),
    Breakage(
        "a job is in a group that never was",
        lambda hr: [("ZADD", hr.core.key(0, "group:group"), 0, "ghost")],
        "job 'ghost'",
    ),
    Breakage(
        "the running job has lost its claim",
        lambda hr: [("HDEL", hr.core.key(0, "unique:mail"), "u")],
        "job 'running'",
    ),
    Breakage(
        "a unique value is claimed by nobody",
        lambda hr: [("HSET", hr.core.key(0, "unique:mail"), "v", "ghost")],
        "queue 'mail'",
    ),
    Breakage(
        "the claim of a failed job is left behind",
        lambda hr: [("HSET", hr.core.key(0, "unique:mail"), "v", "failed")],
        "queue 'mail'",
    ),
    Breakage(
        "the running job is not listed under its tag",
        lambda hr: [
            ("ZREM", hr.core.key(0, "tag:vip"), "running"),
            ("ZADD", hr.core.key(0, "tag:vip"), 1, "waiting"),
        ],
        "job 'running'",
    ),
    Breakage(
        "the tag of the running job is not counted",
        lambda hr: [("ZREM", hr.core.key(0, "tags"), "vip")],
        "job 'running'",
    ),
    Breakage(
        "a tag counts one too many",
        lambda hr: [("ZINCRBY", hr.core.key(0, "tags"), 1, "vip")],
        "tag 'vip'",
    ),
    Breakage(
        "a job is listed under a tag that it does not have",
        lambda hr: [("ZADD", hr.core.key(0, "tag:vip"), 1, "failed")],
        "job 'failed'",
    ),
    Breakage(
        "a job is listed under a tag that never was",
        lambda hr: [("ZADD", hr.core.key(0, "tag:vip"), 1, "ghost")],
        "job 'ghost'",
    ),
    Breakage(
        "the running job is tracked and not listed",
        lambda hr: [("ZREM", hr.core.key(0, "tracked"), "running")],
        "job 'running'",
    ),
    Breakage(
        "a job is listed that never was",
        lambda hr: [("ZADD", hr.core.key(0, "running:mail"), 1, "ghost")],
        "job 'ghost'",
    ),
]


def unnoticed(hr: Client, clock: Clock, breakage: Breakage) -> str:
    """Why the audit of a namespace broken so is not good enough; empty if it is."""
    one_in_every_state(hr, clock)
    before = hr.audit()
    if not before.balanced or (before.queues, before.jobs) != (1, 7):
        return f"before anything was broken: {before}"
    breakage.inflict(hr)
    after = hr.audit()
    if not any(problem.startswith(breakage.named) for problem in after.problems):
        return f"{breakage} was not noticed: {after.problems}"
    return ""
