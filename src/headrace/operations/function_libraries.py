"""Find and delete the function libraries that other versions of Headrace left on the servers."""

from __future__ import annotations

import re
from typing import Any

from headrace.engine.call import build
from headrace.engine.script import HASH_LENGTH, PREFIX
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.transport.drive import Operation, Send

# `sweep` deletes a library of another version if no sweep has found the library in use for this
# many days. A client that still needs the library loads the library again with its next call.
UNUSED_DAYS = 7

# Libraries of other programs may begin with the same prefix.
_NAME = re.compile(rf"{PREFIX}[0-9a-f]{{{HASH_LENGTH}}}")


def other_libraries(core: Core) -> Operation[dict[tuple[int, str], bool] | None]:
    """Return the libraries of other versions by shard and name, and whether each is in use.

    A library is in use while a client of its version is connected to the node of the shard. No
    library counts as used if the user may not list clients, or if the server does not store the
    library names of clients (Redis before 7.2). Returns None if the user may not list libraries.
    """
    found: dict[tuple[int, str], bool] = {}
    for shard in range(core.shards):
        [listed] = yield Send([(shard, ("FUNCTION", "LIST", "LIBRARYNAME", f"{PREFIX}*"))])
        if isinstance(listed, Exception):
            return None
        names = {name for name in map(_name, listed) if _NAME.fullmatch(name)}
        if others := names - {core.library.name}:
            [clients] = yield Send([(shard, ("CLIENT", "LIST"))])
            used = b"" if isinstance(clients, Exception) else clients
            found |= {(shard, name): name.encode() in used for name in others}
    return found


def _name(library: Any) -> str:
    fields = (
        library
        if isinstance(library, dict)
        else dict(zip(library[::2], library[1::2], strict=True))
    )
    name: bytes = fields[b"library_name"]
    return name.decode()


def remove_unused_libraries(core: Core) -> Operation[set[str]]:
    """Delete other versions' libraries that were unused for UNUSED_DAYS; return their names."""
    removed = set()
    others = (yield from other_libraries(core)) or {}
    for shard in range(core.shards):
        unused = [(name,) for (at, name), used in others.items() if at == shard and not used]
        call = build("unused_libraries", list, unused, days=UNUSED_DAYS)
        for name in (yield from ask_one(core, shard, call)):
            # The server refuses the deletion if the user lacks the permission, or if another sweep
            # has already deleted the library.
            [reply] = yield Send([(shard, ("FUNCTION", "DELETE", name))])
            if not isinstance(reply, Exception):
                removed.add(name.decode())
    return removed
