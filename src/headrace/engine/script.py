"""The Lua library of all operations, as server functions and as a script.

A server loads the library once and keeps its functions (`FUNCTION LOAD`). A server that refuses to
load functions runs the same text as a script (`EVALSHA`), which creates all functions in every
call. Names contain a hash of the text, so clients of different versions can share a server.
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import sha1
from typing import NamedTuple

from headrace.engine.compose import compose
from headrace.engine.source import LuaFile, libraries, operations, source

__all__ = ["LIBRARY", "Library", "Operation", "operations", "source"]

# The name of a library begins with this prefix, followed by the hash.
PREFIX = "headrace_"
HASH_LENGTH = 12
_ORIGIN = re.compile(r"-- from (\S+)$")


class Script(NamedTuple):
    """The library as a script: EVALSHA runs it, or EVALSHA_RO if the script only reads."""

    text: str
    sha: bytes
    read_only: bool


class Operation(NamedTuple):
    """An operation of a library: its function, and the script that can replace the function."""

    name: str
    function: bytes
    script: Script


class Library:
    """The Lua library of all operations, composed at first use.

    `swaps` maps short names of Lua files to replacement texts. For example, `now` is the short name
    of a library, and `ops/pop` is the short name of an operation. Tests use `swaps` to set the
    clock and to inject faults.
    """

    def __init__(self, swaps: dict[str, str] | None = None) -> None:
        self._swaps = swaps or {}

    def compose(self) -> None:
        """Compose the library now instead of at its first call."""
        _ = self.operations

    @cached_property
    def name(self) -> str:
        """The name of the library on a server."""
        return PREFIX + _sha(self._body)[:HASH_LENGTH]

    @cached_property
    def text(self) -> str:
        """The text for FUNCTION LOAD."""
        return f"#!lua name={self.name}\nlocal function_prefix = '{self.name}_'\n{self._body}"

    def locate(self, line: int) -> str:
        """Return the Lua file and line from which a line of the text comes."""
        for at, text in reversed([*enumerate(self.text.splitlines()[:line], 1)]):
            if origin := _ORIGIN.search(text):
                return f"{origin[1]}:{line - at}"
        return f"line {line}"

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """The operations of the library by name."""
        flags = {op: self._source(f"ops/{op}").flags for op in operations()}
        scripts = {given: self._script(given) for given in set(flags.values())}
        names = {op: f"{self.name}_{op}" for op in flags}
        return {op: Operation(names[op], names[op].encode(), scripts[flags[op]]) for op in flags}

    @cached_property
    def _body(self) -> str:
        return compose(
            {name: self._source(f"lib/{name}") for name in libraries()},
            {op: self._source(f"ops/{op}") for op in operations()},
        )

    def _script(self, flags: tuple[str, ...]) -> Script:
        # A script without flags runs until its first command that the server refuses.
        first = f"#!lua flags={','.join(flags)}" if flags else ""
        text = f"{first}\nlocal function_prefix\n{self._body}"
        return Script(text, _sha(text).encode(), "no-writes" in flags)

    def _source(self, name: str) -> LuaFile:
        return source(name, self._swaps.get(name.removeprefix("lib/")))


def _sha(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


LIBRARY = Library()
