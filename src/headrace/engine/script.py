"""The scripts of all operations. The server identifies a script by the hash of its text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha1

from headrace.engine.compose import Composer
from headrace.engine.source import LuaFile, lua_path, operations, parsed, source

__all__ = ["LIBRARY", "Library", "Script", "operations", "source"]


@dataclass(frozen=True)
class Script:
    """A composed script and the origin of each of its lines."""

    op: str
    text: str
    origins: tuple[tuple[str, int], ...]

    @cached_property
    def sha(self) -> str:
        """The hash by which the server identifies the script."""
        return sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def locate(self, line: int) -> str:
        """Return the file and line that a line of the composed text comes from."""
        if 0 < line <= len(self.origins):
            name, number = self.origins[line - 1]
            return f"{name}:{number}"
        return f"line {line}"


class Library:
    """The scripts of all operations, composed at first use.

    `swaps` replaces the text of Lua files by short name: `now` for a library, `ops/pop` for an
    operation. Tests use it to set the clock and to plant faults.
    """

    def __init__(self, swaps: dict[str, str] | None = None) -> None:
        self._swaps = swaps or {}
        self._scripts: dict[str, Script] = {}
        self._sources = cache(self._source)

    def __getitem__(self, op: str) -> Script:
        if op not in self._scripts:
            lines = Composer(self._sources).compose(op)
            text = "\n".join(line for line, _ in lines) + "\n"
            self._scripts[op] = Script(op, text, tuple(origin for _, origin in lines))
        return self._scripts[op]

    def _source(self, name: str) -> LuaFile:
        swapped = self._swaps.get(name.removeprefix("lib/"))
        return source(name) if swapped is None else parsed(lua_path(name), swapped)


LIBRARY = Library()
