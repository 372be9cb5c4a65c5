"""The Lua files and their headers.

The header of an operation declares its arguments (`args`, `each`), its function flags (`flags`),
which users may call it (`role`), the refusals that it can return (`error`), and whether the server
remembers its answers (`nonce`). Every header declares the libraries that the file imports (`uses`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from headrace.engine.settings import lua_defaults

LUA = Path(__file__).parent / "lua"
_DECLARES = re.compile(r"^-- (args|each|flags|role|nonce|uses|error)\s{2,}(.*)", re.MULTILINE)
_COMMENT = re.compile(r"^ *--.*", re.MULTILINE)
# The first argument of a call is its ticket; see begin_call.lua.
_FIRST_NAMED = 2


class Argument(NamedTuple):
    """A named argument of an operation.

    `kind` is "int", "number" or the name of the function in begin_call.lua that decodes the
    argument. If it is empty, the operation gets the raw text.
    """

    name: str
    kind: str = ""

    def read(self, position: str) -> str:
        """Return the Lua expression that reads the argument at this index of the arguments."""
        reader = "tonumber" if self.kind in {"int", "number"} else self.kind
        return f"{reader}(call_arguments[{position}])" if reader else f"call_arguments[{position}]"


class LuaFile(NamedTuple):
    """A Lua file and the declarations of its header."""

    name: str
    text: str
    # The text without comments. Each line has the same number as in the text.
    code: str
    args: list[Argument]
    each: list[Argument]
    uses: tuple[str, ...]
    errors: tuple[str, ...]
    flags: tuple[str, ...]
    # The role with the fewest permissions that may call this operation.
    role: str
    # "always" or "sometimes" if calls have a nonce, under which the server remembers the answer.
    nonce: str

    @property
    def fixed(self) -> list[str]:
        """The names of the arguments that precede the rows.

        The names in `each` belong to the rows.
        """
        of_rows = {one.name for one in self.each}
        return [*takewhile(lambda name: name not in of_rows, (one.name for one in self.args))]

    def each_text(self) -> str:
        """Return the Lua text that defines the iterator `each` over the rows of the call."""
        step, first = len(self.each), _FIRST_NAMED + len(self.fixed)
        reads = (one.read(f"at + {i}" if i else "at") for i, one in enumerate(self.each))
        return (
            f"local function each() local at = {first - step} return function() at = at + {step} "
            f"if at <= #call_arguments then return {', '.join(reads)} end end end"
        )

    def arguments_text(self) -> str:
        """Return the Lua text that defines the arguments."""
        reads = (one.read(str(place)) for place, one in enumerate(self.args, _FIRST_NAMED))
        return f"local {', '.join(one.name for one in self.args)} = {', '.join(reads)}"


@cache
def _paths() -> dict[str, str]:
    """Map short names such as `ops/put` to paths below engine/lua such as `ops/jobs/put.lua`."""
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
    header = defaultdict[str, tuple[str, ...]](tuple)
    for field, words in _DECLARES.findall(text.partition("\n\n")[0]):
        header[field] += tuple(words.split())
    args, each = ([Argument(*word.split(":")) for word in header[key]] for key in ("args", "each"))
    uses, errors, flags = (header[key] for key in ("uses", "error", "flags"))
    role = "observer" if "no-writes" in flags else "".join(header["role"]) or "worker"
    nonce = "".join(header["nonce"])
    return LuaFile(path, text, _COMMENT.sub("", text), args, each, uses, errors, flags, role, nonce)


def operations() -> list[str]:
    """Return the names of all operations."""
    return sorted(name.removeprefix("ops/") for name in _paths() if name.startswith("ops/"))


def libraries() -> list[str]:
    """Return the names of all Lua libraries."""
    return sorted(["defaults", *(name[4:] for name in _paths() if name.startswith("lib/"))])
