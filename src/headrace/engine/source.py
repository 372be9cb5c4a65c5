"""The Lua files and their headers.

A header declares the arguments of an operation (`args`, `each`), the libraries that a file imports
(`uses`, `later`), the variables that a library takes from the file that includes it (`needs`), and
the refusals of an operation (`error`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from headrace.engine.keys import lua_keys
from headrace.engine.settings import lua_defaults

LUA = files("headrace.engine") / "lua"
LATER = re.compile(r"-- later\s{2,}(.*)")

_DECLARES = re.compile(r"-- (args|each|flags|uses|needs|error)\s{2,}(.*)")
_READ = {
    "": "{}",
    "int": "tonumber({})",
    "number": "tonumber({})",
    "flag": "{} == '1'",
    "optional": "string.sub({}, 1, 1) == '=' and string.sub({}, 2) or nil",
    "packed": "{} ~= '' and cmsgpack.unpack({}) or nil",
}
FIRST_ARGUMENT = 2


@dataclass(frozen=True, slots=True)
class Argument:
    """A named argument of an operation, with the kind that says how to read its text."""

    name: str
    kind: str

    def read(self, position: str) -> str:
        """Return the Lua expression that reads the argument at this index of ARGV."""
        return _READ[self.kind].replace("{}", f"ARGV[{position}]")


@dataclass(frozen=True)
class LuaFile:
    """A Lua file and the declarations of its header."""

    name: str
    text: str
    args: tuple[Argument, ...] = ()
    each: tuple[Argument, ...] = ()
    uses: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def argument_names(self) -> set[str]:
        """Return the variables that `argument_lines` defines."""
        return {argument.name for argument in self.args} | ({"each"} if self.each else set())

    def argument_lines(self) -> Iterator[str]:
        """Generate the Lua that names the arguments and defines the iterator `each`."""
        if self.args:
            names = ", ".join(argument.name for argument in self.args)
            reads = ", ".join(
                argument.read(str(FIRST_ARGUMENT + index))
                for index, argument in enumerate(self.args)
            )
            yield f"local {names} = {reads}"
        if self.each:
            step, start = len(self.each), FIRST_ARGUMENT + len(self.args)
            reads = ", ".join(
                argument.read(f"at + {index}" if index else "at")
                for index, argument in enumerate(self.each)
            )
            yield (
                f"local function each() local at = {start - step} return function() "
                f"at = at + {step} if at <= #ARGV then return {reads} end end end"
            )


@cache
def _paths() -> dict[str, str]:
    """Map short names to paths below engine/lua: `ops/put` to `ops/jobs/put`."""
    paths: dict[str, str] = {}
    for kind in ("lib", "ops"):
        for folder in [item for item in (LUA / kind).iterdir() if item.is_dir()]:
            for file in folder.iterdir():
                name, _, suffix = file.name.partition(".")
                path = f"{kind}/{folder.name}/{name}"
                if suffix == "lua" and paths.setdefault(f"{kind}/{name}", path) != path:
                    raise ValueError(f"two files of {kind} are named {name}.lua")
    return paths


def lua_path(name: str) -> str:
    """Return the path of a Lua file below engine/lua, or the name if there is no such file."""
    return _paths().get(name, name)


@cache
def source(name: str) -> LuaFile:
    """Read a Lua file by its short name, such as `ops/put`, whatever folder it is in.

    `lib/defaults` is generated, and so are the constants at the end of `lib/keys`.
    """
    if name == "lib/defaults":
        return LuaFile(name, lua_defaults())
    path = lua_path(name)
    generated = lua_keys() if name == "lib/keys" else ""
    return parsed(path, (LUA / f"{path}.lua").read_text() + generated)


def parsed(name: str, text: str) -> LuaFile:
    """Parse the header of a Lua text; `later` may also be declared in the body."""
    declared: dict[str, list[str]] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        found = _DECLARES.match(line)
        if found:
            declared.setdefault(found[1], []).extend(found[2].split())
    return LuaFile(
        name,
        text,
        args=tuple(_argument(word) for word in declared.get("args", ())),
        each=tuple(_argument(word) for word in declared.get("each", ())),
        uses=tuple(declared.get("uses", ())),
        later=tuple(name for found in LATER.findall(text) for name in found.split()),
        needs=tuple(declared.get("needs", ())),
        errors=tuple(declared.get("error", ())),
        flags=tuple(declared.get("flags", ())),
    )


def _argument(word: str) -> Argument:
    name, _, kind = word.partition(":")
    return Argument(name, kind)


def operations() -> list[str]:
    """Return the names of all operations."""
    return sorted(name.removeprefix("ops/") for name in _paths() if name.startswith("ops/"))
