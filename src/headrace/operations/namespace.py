"""Create a namespace on first use, and check whether a namespace exists."""

from __future__ import annotations

from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build
from headrace.engine.check import whole
from headrace.engine.shard import ingress_ids
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.requests import ask, raw
from headrace.transport.drive import Operation


def namespace_exists(core: Core) -> Operation[bool]:
    """Return whether the namespace exists, without creating it."""
    [layout] = yield from raw(core, [(0, ("HGET", core.key(0, keys.META), "layout"))])
    return layout is not None


def open_namespace(core: Core, shards: int | None, layout: int) -> Operation[tuple[int, int]]:
    """Create the namespace if it is new; return its layout and number of shards."""
    if shards is not None:
        whole("shards", shards, 1, 1024)
    [(found_layout, found_shards, *_)] = yield from _open(core, range(1), shards or 1, layout)
    if found_layout is None or found_shards is None:
        raise InvalidArgument(
            "the namespace has no metadata; another program may use keys with the same prefix: "
            "choose another name for the namespace"
        )
    return int(found_layout), int(found_shards)


def open_shards(core: Core, layout: int) -> Operation[None]:
    """Create the namespace on every shard if there are several shards.

    Each shard stores a prefix for the ids of jobs from its ingress lists. Ids with this prefix
    belong to that shard.
    """
    if core.shards > 1:
        yield from _open(core, range(core.shards), core.shards, layout)


def _open(core: Core, numbers: range, shards: int, layout: int) -> Operation[list[list[Any]]]:
    """Return the layout and shard count that each shard has stored; store them where missing.

    Read first, because replicas and full servers refuse writes, and some users may only read.
    """
    fields = ("layout", "shards", "ingress")
    found: list[list[Any]] = yield from raw(
        core, [(shard, ("HMGET", core.key(shard, keys.META), *fields)) for shard in numbers]
    )
    calls = [(at, _open_call(at, shards, layout)) for at in numbers if None in found[at]]
    for (shard, _), created in zip(calls, (yield from ask(core, calls)), strict=True):
        found[shard] = created
    return found


def _open_call(shard: int, shards: int, layout: int) -> Call[list[Any]]:
    return build(
        "open_namespace", list, shards=shards, layout=layout, ingress_ids=ingress_ids(shard, shards)
    )
