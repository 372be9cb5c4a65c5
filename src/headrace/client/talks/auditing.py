"""What an audit says is wrong: with a job, and with the index of tags."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.client.core import Core
from headrace.client.talk import Talk, ask_one
from headrace.client.talks.tagging import top_of_shards
from headrace.engine.call import build

AUDITED = 500


def fault(row: Sequence[bytes]) -> str:
    """What is wrong with a job, from its id and what a script says of it."""
    return f"job {row[0].decode()!r} {row[1].decode()}"


def audit_tags(core: Core, shard: int) -> Talk[list[str]]:
    """What is wrong with the index of tags of a shard."""
    problems: list[str] = []
    looked_at = 0
    while True:
        [found] = yield from top_of_shards(core, [shard], 0, looked_at, AUDITED)
        for name in found:
            problems += yield from _audit_tag(core, shard, name)
        looked_at += len(found)
        if len(found) < AUDITED:
            return problems


def _audit_tag(core: Core, shard: int, name: str) -> Talk[list[str]]:
    problems: list[str] = []
    seen = 0
    while True:
        call = build("audit_tag", list, tag=name, offset=seen, count=AUDITED)
        looked_at, counted, there, *faults = yield from ask_one(core, shard, call)
        seen += looked_at
        problems += [fault(row) for row in faults]
        if looked_at < AUDITED:
            break
    if counted != there:
        problems.append(f"tag {name!r}: it counts {counted} jobs, there are {there}")
    return problems
