"""The Lua files and their headers.

The header of an operation declares its arguments (`args`, `each`), the flags of its function
(`flags`), the role of the users who may call it (`role`) and its refusals (`error`). Every header
declares the libraries that the file imports (`uses`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from headrace.engine.settings import lua_defaults

LUA = Path(__file__).parent / "lua"
_DECLARES = re.compile(r"^-- (args|each|flags|role|uses|error)\s{2,}(.*)", re.MULTILINE)
_READ = {
    "": "{}",
    "int": "tonumber({})",
    "number": "tonumber({})",
    "flag": "{} == '1'",
    "optional": "string.sub({}, 1, 1) == '=' and string.sub({}, 2) or nil",
    "packed": "{} ~= '' and cmsgpack.unpack({}) or nil",
}
FIRST_ARGUMENT = 2


class Argument(NamedTuple):
    """A named argument of an operation. The kind determines how the argument is converted."""

    name: str
    kind: str = ""

    def read(self, position: str) -> str:
        """Return the Lua expression that reads the argument at this index of the arguments."""
        return _READ[self.kind].replace("{}", f"call_arguments[{position}]")


@dataclass(frozen=True)
class LuaFile:
    """A Lua file and the declarations of its header."""

    name: str
    text: str
    args: tuple[Argument, ...] = ()
    each: tuple[Argument, ...] = ()
    uses: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    declared_role: str = "worker"

    @property
    def role(self) -> str:
        """The role with the fewest permissions that may call this operation."""
        return "observer" if "no-writes" in self.flags else self.declared_role

    @property
    def names_first_row(self) -> bool:
        """Whether the last `args` name the values of the first row: they are those of `each`."""
        return bool(self.each) and self.args[-len(self.each) :] == self.each

    def each_line(self) -> str:
        """Return the Lua line that defines the iterator `each` over the rows of the call."""
        if not self.each:
            return ""
        step = len(self.each)
        before = FIRST_ARGUMENT + len(self.args) - step * (2 if self.names_first_row else 1)
        reads = (one.read(f"at + {i}" if i else "at") for i, one in enumerate(self.each))
        return (
            f"local function each() local at = {before} return function() at = at + {step} "
            f"if at <= #call_arguments then return {', '.join(reads)} end end end"
        )

    def argument_lines(self) -> Iterator[str]:
        """Generate the Lua lines that name the arguments."""
        if self.args:
            reads = (one.read(str(place)) for place, one in enumerate(self.args, FIRST_ARGUMENT))
            yield f"local {', '.join(one.name for one in self.args)} = {', '.join(reads)}"
        if self.names_first_row:
            yield f"local is_batch = call_arguments[{FIRST_ARGUMENT + len(self.args)}] ~= nil"


@cache
def _paths() -> dict[str, str]:
    """Map short names such as `ops/put` to paths below engine/lua such as `ops/jobs/put`."""
    paths = LUA.glob("*/*/*.lua")
    return {f"{path.parts[-3]}/{path.stem}": str(path.relative_to(LUA)) for path in paths}


@cache
def source(name: str, text: str | None = None) -> LuaFile:
    """Read a Lua file by its short name: `ops/put` is the file ops/<folder>/put.lua.

    `text` replaces the text of the file. The file `lib/defaults` is generated.
    """
    path = _paths().get(name, f"{name}.lua")
    if text is None:
        text = lua_defaults() if name == "lib/defaults" else (LUA / path).read_text()
    declared = defaultdict[str, list[str]](list)
    for field, words in _DECLARES.findall(text.partition("\n\n")[0]):
        declared[field] += words.split()
    args, each = (
        [Argument(*word.split(":")) for word in declared[key]] for key in ("args", "each")
    )
    uses, errors, flags = (tuple(declared[key]) for key in ("uses", "error", "flags"))
    role = " ".join(declared["role"]) or "worker"
    return LuaFile(path, text, tuple(args), tuple(each), uses, errors, flags, role)


def operations() -> list[str]:
    """Return the names of all operations."""
    return sorted(name.removeprefix("ops/") for name in _paths() if name.startswith("ops/"))


def libraries() -> list[str]:
    """Return the names of all Lua libraries."""
    return sorted(["defaults", *(name[4:] for name in _paths() if name.startswith("lib/"))])
