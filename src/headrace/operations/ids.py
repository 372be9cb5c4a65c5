"""Job ids: create new ids, and make sure that related jobs share a shard."""

from __future__ import annotations

import os
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.engine.check import text
from headrace.engine.shard import id_on_same_shard
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.options import dependencies

# Base 64 turns three random bytes into four characters.
ID_BYTES, ID_WIDTH = 12, 16
IDS_AT_ONCE = 64
# In an id, upper-case letters of base 64 become lower-case letters, and + and / become digits.
# So an id is easy to read aloud, and a double click selects the whole id.
_PLAIN = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ+/", b"abcdefghijklmnopqrstuvwxyz01")
# The maximum number of dependencies that one call of a script creates.
MOST_LINKS = 5_000
# The prefix that marks a dependency on a group. No job id contains this character.
GROUP_MARK = "\0"

# Ids are created in advance, many at a time. A forked child must not use the ids of its parent.
_unused_ids: list[str] = []
os.register_at_fork(after_in_child=_unused_ids.clear)


def new_id() -> str:
    """Return an unguessable id of 16 lower-case letters and digits, with 80 bits of randomness."""
    try:
        return _unused_ids.pop()
    except IndexError:
        _unused_ids.extend(new_ids(IDS_AT_ONCE))
        return _letters(ID_BYTES)


def new_ids(count: int) -> Iterator[str]:
    """Return new ids; this is cheaper per id than `new_id`."""
    letters = _letters(ID_BYTES * count)
    return (letters[at : at + ID_WIDTH] for at in range(0, ID_WIDTH * count, ID_WIDTH))


def _letters(count: int) -> str:
    return b2a_base64(os.urandom(count), newline=False).translate(_PLAIN).decode()


def settled_id(
    core: Core, given: str | None, options: dict[str, Any], new: str | None = None
) -> str:
    """Return the given job id, or a new id on the shard that the options require.

    Raises InvalidArgument if the given id and the options belong to different shards.
    """
    if given is not None:
        text("id", given, core.limits.name)
    if core.shards == 1 or not options:
        return given or new or new_id()
    anchors = _anchors(options)
    if given is not None:
        anchors.insert(0, (f"id {given!r}", given))
    if not anchors:
        return new or new_id()
    check_together(core, anchors)
    return given or spare_id(core, anchors[0][1])


def _anchors(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the names that must share a shard with a job, each with a description for errors."""
    found = [(f"dependency {job_id!r}", job_id) for job_id in options.get("depends_on", ())]
    return found + [
        (f"{what} {options[what]!r}", options[what])
        for what in ("group", "after", "key", "unique")
        if what in options
    ]


def parents_of(core: Core, ids: Sequence[str], depends_on: Any) -> list[str]:
    """Check and return dependencies; raise InvalidArgument unless all jobs share a shard."""
    parents = dependencies("depends_on", depends_on, core.limits)
    if core.shards > 1:
        jobs = [(f"job {job_id!r}", job_id) for job_id in ids]
        check_together(core, jobs + [(f"dependency {parent!r}", parent) for parent in parents])
    return parents


def batch_of(core: Core, links: int) -> int:
    """Return the batch size for jobs that each have this many dependencies."""
    return min(core.limits.batch, MOST_LINKS // max(1, links))


def ready(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as the scripts expect them: `after` becomes a dependency on a group."""
    if "after" not in options:
        return options
    others = {name: value for name, value in options.items() if name != "after"}
    return {**others, "depends_on": [*others.get("depends_on", ()), GROUP_MARK + options["after"]]}


def check_together(core: Core, anchors: list[tuple[str, str]]) -> None:
    """Raise InvalidArgument unless all of these names belong to one shard."""
    first, anchor = anchors[0]
    for other, hashed in anchors[1:]:
        if core.shard_of(hashed) != core.shard_of(anchor):
            raise InvalidArgument(
                f"{first} and {other} belong to different shards, but must share a shard; "
                f"give both names a common part in braces: '{{order-7}}a' and '{{order-7}}b'"
            )


def spare_id(core: Core, name: str) -> str:
    """Return a new id that belongs to the same shard as a name.

    The id begins with the name, or with the name in braces if the name has no braces. If the name
    is too long or has misplaced braces, the function tries random ids until an id belongs to the
    same shard.
    """
    longest = core.limits.name
    suffix = _suffix()
    start = name.encode()[: longest - len(suffix) - 1].decode(errors="ignore")
    spare = id_on_same_shard(name, suffix)
    while len(spare.encode()) > longest or core.shard_of(spare) != core.shard_of(name):
        spare = f"{start}~{_suffix()}"
    return spare


def _suffix() -> str:
    return os.urandom(6).hex()
