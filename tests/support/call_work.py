"""Count the work of each call of a script: its commands, and the jobs that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis

READS = ("GET", "MGET")
END = "end of the counted calls"


@dataclass(slots=True)
class CallWork:
    """The work of one call."""

    op: str
    commands: int = 0
    jobs_read: int = 0


@contextmanager
def counted_calls(url: str) -> Iterator[list[CallWork]]:
    """Yield a list; at the end of the block, the list contains the work of each call in the block.

    The server reports each command of each script, so no other client should use the server.
    """
    calls: list[CallWork] = []
    with redis.Redis.from_url(url) as server, server.monitor() as monitor:
        yield calls
        server.echo(END)
        while (found := monitor.next_command())["command"] != f"ECHO {END}":
            _add(calls, found)


def _add(calls: list[CallWork], found: dict[str, Any]) -> None:
    words = found["command"].split(" ")
    if found["client_type"] != "lua":
        if words[0].startswith("FCALL"):
            calls.append(CallWork(words[1].split("_", 2)[2]))
        return
    calls[-1].commands += 1
    if words[0].upper() in READS:
        calls[-1].jobs_read += sum("}:job:" in word for word in words)
