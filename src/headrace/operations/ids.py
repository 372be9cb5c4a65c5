"""Ids of jobs: make new ones, and make sure that related jobs share a shard."""

from __future__ import annotations

import os
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.engine.check import text
from headrace.engine.shard import id_on_same_shard
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.options import check_option

# Three bytes become four letters.
ID_BYTES, ID_WIDTH = 12, 16
IDS_AT_ONCE = 64
# Base 64 in letters that can be told apart when spoken, and taken up by a double click.
_PLAIN = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ+/", b"abcdefghijklmnopqrstuvwxyz01")
# The most links that one script creates.
MOST_LINKS = 10_000
# Marks a group among the dependencies of a job: no id contains it.
GROUP_MARK = "\0"

# Chance is asked for many ids at a time. Two processes must not make the same ones.
_to_come: list[str] = []
os.register_at_fork(after_in_child=_to_come.clear)


def new_id() -> str:
    """An unguessable id: lower-case letters and digits, with 80 bits of chance."""
    try:
        return _to_come.pop()
    except IndexError:
        _to_come.extend(new_ids(IDS_AT_ONCE))
        return _letters(ID_BYTES)


def new_ids(count: int) -> Iterator[str]:
    """The same, cheap in bulk."""
    all_of_them = _letters(ID_BYTES * count)
    return (all_of_them[at : at + ID_WIDTH] for at in range(0, ID_WIDTH * count, ID_WIDTH))


def _letters(count: int) -> str:
    return b2a_base64(os.urandom(count), newline=False).translate(_PLAIN).decode()


def new_nonce() -> str:
    """What tells a call that is repeated from another one like it."""
    return os.urandom(6).hex()


def settled_id(
    core: Core, given: str | None, options: dict[str, Any], fresh: str | None = None
) -> str:
    """The id of a job: the one it was given, else a new one that lives where the job must."""
    if given is not None:
        text("id", given, core.limits.name)
    if core.shards == 1 or not options:
        return given or fresh or new_id()
    anchors = _anchors(options)
    if given is not None:
        anchors.insert(0, (f"id {given!r}", given))
    if not anchors:
        return fresh or new_id()
    check_together(core, anchors)
    return given or spare_id(core, anchors[0][1])


def _anchors(options: dict[str, Any]) -> list[tuple[str, str]]:
    """What a job must live with on one shard, each in words and as what is hashed."""
    found = [(f"dependency {job_id!r}", job_id) for job_id in options.get("depends_on", ())]
    return found + [
        (f"{what} {options[what]!r}", options[what])
        for what in ("group", "after", "key", "unique")
        if what in options
    ]


def parents_of(core: Core, ids: Sequence[str], depends_on: Any) -> list[str]:
    """What jobs that exist are to depend on, checked: all must live on one shard."""
    parents: list[str] = check_option("depends_on", depends_on, core.limits)
    if core.shards > 1:
        jobs = [(f"job {job_id!r}", job_id) for job_id in ids]
        check_together(core, jobs + [(f"dependency {parent!r}", parent) for parent in parents])
    return parents


def batch_of(core: Core, links: int) -> int:
    """How many jobs are seen to in one step, if each has so many dependencies."""
    return min(core.limits.batch, MOST_LINKS // max(1, links))


def ready(options: dict[str, Any]) -> dict[str, Any]:
    """Options as scripts read them: a group that is waited for is among the dependencies."""
    if "after" not in options:
        return options
    rest = {name: value for name, value in options.items() if name != "after"}
    return {**rest, "depends_on": [*rest.get("depends_on", ()), GROUP_MARK + options["after"]]}


def check_together(core: Core, anchors: list[tuple[str, str]]) -> None:
    """Raises unless all of these live on one shard."""
    first, anchor = anchors[0]
    for other, hashed in anchors[1:]:
        if core.shard_of(hashed) != core.shard_of(anchor):
            raise InvalidArgument(
                f"{first} and {other} live on different shards, and what is done to a job is done "
                f"on one; give them a shared part in braces: '{{order-7}}a' and '{{order-7}}b'"
            )


def spare_id(core: Core, name: str) -> str:
    """A new id on the shard of a name. Braces in the wrong places cannot be put in braces, and a
    long name has no room for them: then what fits is found by trying.
    """
    longest = core.limits.name
    nonce = new_nonce()
    begins = name.encode()[: longest - len(nonce) - 1].decode(errors="ignore")
    spare = id_on_same_shard(name, nonce)
    while len(spare.encode()) > longest or core.shard_of(spare) != core.shard_of(name):
        spare = f"{begins}~{new_nonce()}"
    return spare
