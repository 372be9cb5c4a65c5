"""Header + lib + operation = one script; and from a line of it back to the file it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha1
from importlib.resources import files

from headrace.engine.profile import lua_defaults

LUA = files("headrace.engine") / "lua"

_READ = {
    "": "{}",
    "int": "tonumber({})",
    "number": "tonumber({})",
    "flag": "{} == '1'",
    "optional": "string.sub({}, 1, 1) == '=' and string.sub({}, 2) or nil",
    "packed": "{} ~= '' and cmsgpack.unpack({}) or nil",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """A named argument of an operation and how its text is read."""

    name: str
    kind: str

    def read(self, position: str) -> str:
        return _READ[self.kind].replace("{}", f"ARGV[{position}]")


@dataclass(frozen=True)
class Source:
    """One Lua file and what its header declares."""

    name: str
    text: str
    args: tuple[Argument, ...] = ()
    each: tuple[Argument, ...] = ()
    uses: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """A composed script, and where each of its lines came from."""

    op: str
    text: str
    origins: tuple[tuple[str, int], ...]

    @cached_property
    def sha(self) -> str:
        return sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def locate(self, line: int) -> str:
        """The file and line behind a line of the composed text."""
        if 0 < line <= len(self.origins):
            name, number = self.origins[line - 1]
            return f"{name}:{number}"
        return f"line {line}"


@cache
def source(name: str) -> Source:
    """A Lua file by its name below engine/lua, such as ops/put."""
    if name == "lib/defaults":
        return Source(name, lua_defaults())
    text = (LUA / f"{name}.lua").read_text()
    declared: dict[str, list[str]] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        found = re.match(r"-- (args|each|uses|error)\s{2,}(.*)", line)
        if found:
            declared.setdefault(found[1], []).extend(found[2].split())
    return Source(
        name,
        text,
        args=tuple(_argument(word) for word in declared.get("args", ())),
        each=tuple(_argument(word) for word in declared.get("each", ())),
        uses=tuple(declared.get("uses", ())),
        errors=tuple(declared.get("error", ())),
    )


def _argument(word: str) -> Argument:
    name, _, kind = word.partition(":")
    return Argument(name, kind)


def operations() -> list[str]:
    """The names of all operations."""
    return sorted(
        item.name.removesuffix(".lua") for item in (LUA / "ops").iterdir() if item.name[0] != "."
    )


class Library:
    """The scripts of all operations, with some lib files swapped where a test wants that."""

    def __init__(self, swaps: dict[str, str] | None = None) -> None:
        self._swaps = swaps or {}
        self._scripts: dict[str, Script] = {}

    def __getitem__(self, op: str) -> Script:
        if op not in self._scripts:
            self._scripts[op] = self._compose(op)
        return self._scripts[op]

    def _compose(self, op: str) -> Script:
        operation = source(f"ops/{op}")
        parts = [("composed", "local shard, again = KEYS[1], ARGV[1] == '1'\n")]
        parts += [
            (f"lib/{name}.lua", self._swaps.get(name, source(f"lib/{name}").text))
            for name in _in_order(operation.uses)
        ]
        parts.append(("composed", _name_arguments(operation)))
        parts.append((f"ops/{op}.lua", self._swaps.get(f"ops/{op}", operation.text)))
        lines: list[str] = []
        origins: list[tuple[str, int]] = []
        for name, text in parts:
            for number, line in enumerate(text.splitlines(), 1):
                lines.append(line)
                origins.append((name, number))
        return Script(op, "\n".join(lines) + "\n", tuple(origins))


def _in_order(wanted: tuple[str, ...]) -> list[str]:
    ordered: list[str] = []

    def add(name: str) -> None:
        if name not in ordered:
            for used in source(f"lib/{name}").uses:
                add(used)
            ordered.append(name)

    for name in wanted:
        add(name)
    return ordered


def _name_arguments(operation: Source) -> str:
    first = 2
    text = ""
    if operation.args:
        names = ", ".join(argument.name for argument in operation.args)
        reads = ", ".join(
            argument.read(str(first + index)) for index, argument in enumerate(operation.args)
        )
        text += f"local {names} = {reads}\n"
    if operation.each:
        step, start = len(operation.each), first + len(operation.args)
        reads = ", ".join(
            argument.read(f"at + {index}" if index else "at")
            for index, argument in enumerate(operation.each)
        )
        text += (
            f"local function each() local at = {start - step} return function() at = at + {step} "
            f"if at <= #ARGV then return {reads} end end end\n"
        )
    return text


LIBRARY = Library()
