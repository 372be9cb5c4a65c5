"""Header + lib + operation = one script; and from a line of it back to the file it came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha1
from importlib.resources import files

from headrace.engine.profile import lua_defaults
from headrace.engine.record import FIELDS

LUA = files("headrace.engine") / "lua"

_READ = {
    "": "{}",
    "int": "tonumber({})",
    "number": "tonumber({})",
    "flag": "{} == '1'",
    "optional": "string.sub({}, 1, 1) == '=' and string.sub({}, 2) or nil",
    "packed": "{} ~= '' and cmsgpack.unpack({}) or nil",
}


_LATER = re.compile(r"-- later\s{2,}(.*)")
_FIELD = re.compile(r"\b((?:[a-z]+_)?job)\.([a-z_]+)")
_POSITIONS = {name: position for position, name in enumerate(FIELDS, 1)}

Line = tuple[str, tuple[str, int]]


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
    later: tuple[str, ...] = ()
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
    return parsed(name, (LUA / f"{name}.lua").read_text())


def parsed(name: str, text: str) -> Source:
    """A Lua text with what its header declares; `later` may also stand in its body."""
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
        later=tuple(name for found in _LATER.findall(text) for name in found.split()),
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
        lines = _Composer(self._source).compose(op)
        text = "\n".join(line for line, _ in lines) + "\n"
        return Script(op, text, tuple(origin for _, origin in lines))

    def _source(self, name: str) -> Source:
        swapped = self._swaps.get(name.removeprefix("lib/"))
        return source(name) if swapped is None else parsed(name, swapped)


class _Composer:
    """Puts one script together: every file once, what is used before what uses it.

    A file named by `later` becomes a function that is made when first called, together with the
    lib files that only it needs: making functions costs time in every call, needed or not.
    """

    def __init__(self, source_of: Callable[[str], Source]) -> None:
        self._source = source_of
        self._placed: set[str] = set()
        self._everywhere: set[str] = set()

    def compose(self, op: str) -> list[Line]:
        operation = self._source(f"ops/{op}")
        self._everywhere = self._closure(operation.uses)
        opening = [("local shard, again = KEYS[1], ARGV[1] == '1'", ("composed", 1))]
        used = self._place(operation.uses)
        named = [
            (line, ("composed", number))
            for number, line in enumerate(_name_arguments(operation).splitlines(), 1)
        ]
        self._place_before_later(operation, used)
        return opening + used + named + self._text(operation)

    def _closure(self, names: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for name in names:
            found |= {name} | self._closure(self._source(f"lib/{name}").uses)
        return found

    def _place(self, names: Iterable[str]) -> list[Line]:
        lines: list[Line] = []
        for name in names:
            if name not in self._placed:
                self._placed.add(name)
                file = self._source(f"lib/{name}")
                lines += self._place(file.uses)
                self._place_before_later(file, lines)
                lines += self._text(file)
        return lines

    def _place_before_later(self, file: Source, lines: list[Line]) -> None:
        # What the whole script shares must not be made a second time inside a later function.
        for name in file.later:
            shared = self._closure(self._source(f"lib/{name}").uses) & self._everywhere
            lines += self._place(sorted(shared))

    def _text(self, file: Source) -> list[Line]:
        lines: list[Line] = []
        for number, line in enumerate(file.text.splitlines(), 1):
            lines.append((_compiled(line), (f"{file.name}.lua", number)))
            found = _LATER.match(line)
            for name in found[1].split() if found else ():
                lines += self._later(name)
        return lines

    def _later(self, name: str) -> list[Line]:
        file = self._source(f"lib/{name}")
        placed = set(self._placed)
        inside = self._place(file.uses) + self._text(file)
        self._placed = placed
        here = ("composed", 1)
        opening = f"local {name} do local made function {name}(...) if not made then made = (function()"
        closing = "end)() end return made(...) end end"
        return [(opening, here), *inside, (closing, here)]


def _compiled(line: str) -> str:
    """Fields of a job by position: job.state is read faster as job[1]."""
    code, dashes, comment = line.partition("--")
    return _FIELD.sub(lambda found: f"{found[1]}[{_POSITIONS[found[2]]}]", code) + dashes + comment


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
