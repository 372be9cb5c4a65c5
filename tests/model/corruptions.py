"""Ways to corrupt single structures of a namespace, and the reports that the audit must give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headrace import Client
from headrace.engine.record import FIELDS, STATE_NUMBERS
from headrace.testing import Clock
from headrace.transport.transport import Words
from tests.model.harness import Swaps, opened


def one_in_every_state(hr: Client, clock: Clock) -> None:
    """Make a queue with one job per state, named after the state; ada holds the running job."""
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
class Corruption:
    """A corruption: its name, the commands that cause it, and the start of the audit's report."""

    name: str
    commands: Callable[[Client], Sequence[Words]]
    named: str

    def __str__(self) -> str:
        return self.name

    def inflict(self, hr: Client) -> None:
        for reply in hr.core.transport.send([(0, words) for words in self.commands(hr)]):
            assert reply not in (0, None), f"{self.name}: the command changed nothing"
            assert not isinstance(reply, Exception), reply


def missing_member(state: str) -> Corruption:
    def commands(hr: Client) -> list[Words]:
        return [("ZREM", hr.core.key(0, f"{state}:mail"), _member(hr, state))]

    return Corruption(f"the {state} job is not listed", commands, f"job {state!r}")


def missing_record(state: str) -> Corruption:
    return Corruption(
        f"the {state} job has no record",
        lambda hr: [("DEL", hr.core.key(0, f"job:{state}"))],
        f"job {state!r}",
    )


def other_record(state: str, field: str, value: object, *, listed: str = "") -> Corruption:
    def commands(hr: Client) -> list[Words]:
        key = hr.core.key(0, f"job:{state}")
        record: list[Any] = msgspec.msgpack.decode(_send(hr, "GET", key))
        record[FIELDS.index(field)] = value
        changed: Words = ("SET", key, msgspec.msgpack.encode(record))
        return [changed, ("ZADD", hr.core.key(0, listed), 1, state)] if listed else [changed]

    return Corruption(
        f"the record of the {state} job has {field} {value}", commands, f"job {state!r}"
    )


def counter(name: str) -> Corruption:
    return Corruption(
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

CORRUPTIONS = [
    *map(missing_member, STATES),
    *map(missing_record, STATES),
    *(counter(name) for name in (*STATES, "put", "moved", "cancelled", "expired", "pruned")),
    other_record("waiting", "state", STATE_NUMBERS["failed"]),
    other_record("running", "state", STATE_NUMBERS["waiting"]),
    other_record("complete", "state", STATE_NUMBERS["running"]),
    other_record("scheduled", "queue", "post", listed="scheduled:post"),
    other_record("waiting", "seq", 1),
    Corruption(
        "the running job has no holder",
        lambda hr: [("ZREM", hr.core.key(0, "held:ada"), b"mail\0running")],
        "job 'running'",
    ),
    Corruption(
        "the failed job is not listed under its type",
        lambda hr: [("ZREM", hr.core.key(0, "failures:io"), "failed")],
        "job 'failed'",
    ),
    Corruption(
        "the waiting job has another position",
        lambda hr: [("ZADD", hr.core.key(0, "waiting:mail"), "CH", 3, _member(hr, "waiting"))],
        "job 'waiting'",
    ),
    Corruption(
        "the waiting job is also scheduled",
        lambda hr: [("ZADD", hr.core.key(0, "scheduled:mail"), 1, "waiting")],
        "job 'waiting'",
    ),
    Corruption(
        "the blocked job depends on nothing",
        lambda hr: [
            ("DEL", hr.core.key(0, "depends:blocked")),
            ("DEL", hr.core.key(0, "dependents:wait:waiting")),
        ],
        "job 'blocked'",
    ),
    Corruption(
        "the dependents of the waiting job are gone",
        lambda hr: [("DEL", hr.core.key(0, "dependents:wait:waiting"))],
        "job 'blocked'",
    ),
    Corruption(
        "the dependency of the blocked job has another event number",
        lambda hr: [("ZADD", hr.core.key(0, "depends:blocked"), "CH", 1, "waiting")],
        "job 'blocked'",
    ),
    Corruption(
        "the blocked job waits for a complete job",
        lambda hr: [
            ("ZADD", hr.core.key(0, "depends:blocked"), 1, "complete"),
            ("ZADD", hr.core.key(0, "dependents:wait:complete"), 1, "blocked"),
        ],
        "job 'blocked'",
    ),
    Corruption(
        "a job that never existed is listed as a dependent",
        lambda hr: [("ZADD", hr.core.key(0, "dependents:fail:waiting"), 1, "ghost")],
        "job 'ghost'",
    ),
    Corruption(
        "the waiting job is not in its group",
        lambda hr: [("DEL", hr.core.key(0, "group:group"))],
        "job 'waiting'",
    ),
    Corruption(
        "the waiting job is failed in its group",
        lambda hr: [("ZADD", hr.core.key(0, "group:group"), "CH", 1, "waiting")],
        "job 'waiting'",
    ),
    Corruption(
        "a job that never existed is listed in a group",
        lambda hr: [("ZADD", hr.core.key(0, "group:group"), 0, "ghost")],
        "job 'ghost'",
    ),
    Corruption(
        "the running job has lost its claim",
        lambda hr: [("HDEL", hr.core.key(0, "unique:mail"), "u")],
        "job 'running'",
    ),
    Corruption(
        "a unique value is claimed by a job that never existed",
        lambda hr: [("HSET", hr.core.key(0, "unique:mail"), "v", "ghost")],
        "queue 'mail'",
    ),
    Corruption(
        "the claim of a failed job is left behind",
        lambda hr: [("HSET", hr.core.key(0, "unique:mail"), "v", "failed")],
        "queue 'mail'",
    ),
    Corruption(
        "the running job is not listed under its tag",
        lambda hr: [
            ("ZREM", hr.core.key(0, "tag:vip"), "running"),
            ("ZADD", hr.core.key(0, "tag:vip"), 1, "waiting"),
        ],
        "job 'running'",
    ),
    Corruption(
        "the tag of the running job is not counted",
        lambda hr: [("ZREM", hr.core.key(0, "tags"), "vip")],
        "job 'running'",
    ),
    Corruption(
        "a tag counts one too many",
        lambda hr: [("ZINCRBY", hr.core.key(0, "tags"), 1, "vip")],
        "tag 'vip'",
    ),
    Corruption(
        "a job is listed under a tag that it does not have",
        lambda hr: [("ZADD", hr.core.key(0, "tag:vip"), 1, "failed")],
        "job 'failed'",
    ),
    Corruption(
        "a job that never existed is listed under a tag",
        lambda hr: [("ZADD", hr.core.key(0, "tag:vip"), 1, "ghost")],
        "job 'ghost'",
    ),
    Corruption(
        "the running job is tracked and not listed",
        lambda hr: [("ZREM", hr.core.key(0, "tracked"), "running")],
        "job 'running'",
    ),
    Corruption(
        "no task deletes the remembered answers",
        lambda hr: [("ZREM", hr.core.key(0, "agenda"), "answers:")],
        "the remembered answers are never deleted",
    ),
    Corruption(
        "the remembered answers have no size",
        lambda hr: [("HDEL", hr.core.key(0, "answers"), "")],
        "the remembered answers are counted as too few",
    ),
    Corruption(
        "a job that never existed is listed as running",
        lambda hr: [("ZADD", hr.core.key(0, "running:mail"), 1, "ghost")],
        "job 'ghost'",
    ),
]


def check_audit(hr: Client, clock: Clock, corruption: Corruption) -> None:
    """Raise unless the audit finds a namespace balanced and then reports its corruption."""
    one_in_every_state(hr, clock)
    before = hr.audit()
    assert (before.balanced, before.queues, before.jobs) == (True, 1, 7), before
    corruption.inflict(hr)
    problems = hr.audit().problems
    assert any(problem.startswith(corruption.named) for problem in problems), problems


def audit_reports_corruption(url: str, swaps: Swaps) -> None:
    """Raise unless the audit reports every corruption."""
    for corruption in CORRUPTIONS:
        client, clock = opened(url, swaps)
        with client:
            check_audit(client, clock, corruption)
