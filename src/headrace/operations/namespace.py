"""Create a namespace on first use, and check whether one exists."""

from __future__ import annotations

from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build
from headrace.engine.check import whole
from headrace.engine.shard import ingress_ids
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.requests import ask, ask_one, raw
from headrace.transport.drive import Operation


def namespace_exists(core: Core) -> Operation[bool]:
    """Return whether the namespace exists, without creating it."""
    [layout] = yield from raw(core, [(0, ("HGET", core.key(0, keys.META), "layout"))])
    return layout is not None


def open_namespace(core: Core, shards: int | None, layout: int) -> Operation[tuple[int, int]]:
    """Create the namespace if it is new; return its layout and number of shards."""
    if shards is not None:
        whole("shards", shards, 1, 1024)
    call = _open_call(0, shards or 1, layout)
    found_layout, found_shards = yield from ask_one(core, 0, call)
    if found_layout is None or found_shards is None:
        raise InvalidArgument(
            "the namespace has no metadata; another program may use its prefix: choose another name"
        )
    return int(found_layout), int(found_shards)


def open_shards(core: Core, layout: int) -> Operation[None]:
    """Create the other shards; each stores which ids belong to it."""
    if core.shards > 1:
        calls = [(shard, _open_call(shard, core.shards, layout)) for shard in range(core.shards)]
        yield from ask(core, calls)


def _open_call(shard: int, shards: int, layout: int) -> Call[list[Any]]:
    return build(
        "open_namespace", list, shards=shards, layout=layout, ingress_ids=ingress_ids(shard, shards)
    )
