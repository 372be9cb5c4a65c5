"""Puts one script together from its operation and the lib files that it uses.

Making functions costs time in every call of a script, needed or not. So a script holds only what
its operation reaches, and a file named by `later` becomes a function that is made when first
called, together with everything that only it needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from headrace.engine.record import FIELDS
from headrace.engine.source import LATER, Source

Line = tuple[str, tuple[str, int]]

_FIELD = re.compile(r"\b((?:[a-z]+_)?job)\.([a-z_]+)")
_KEY = re.compile(r"\bkey\('(\w+)', ([a-z]\w*(?:\[\d+\])?)\)")
_POSITIONS = {name: position for position, name in enumerate(FIELDS, 1)}
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'")
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_FUNCTION = re.compile(r"local function (\w+)")
_STATE = re.compile(r"local ([\w, ]+)")
_OPENS = re.compile(r"(^(local )?function |^do$|function\(.*\)$|[({]$|\bthen$|\bdo$|^repeat$)")


@dataclass(slots=True)
class Item:
    """One statement at the top of a file. What runs is always there, the rest where it is needed.

    State is there once; functions, and constants (in capitals), may be made again in a later one.
    """

    kind: str
    lines: list[Line]
    defines: frozenset[str]
    names: frozenset[str]


@dataclass(slots=True)
class Later(Item):
    """A function made when first called, and what it is made of."""

    inner: list[Item] = field(default_factory=list)

    def inner_names(self) -> set[str]:
        """Everything that is named inside, however deep."""
        found: set[str] = set()
        for item in self.inner:
            found |= item.inner_names() if isinstance(item, Later) else item.names
        return found


class Composer:
    """Composes scripts from sources."""

    def __init__(self, source_of: Callable[[str], Source]) -> None:
        self._source = source_of
        self._placed: set[str] = set()
        self._shared: set[str] = set()
        self._closures: dict[str, frozenset[str]] = {}

    def compose(self, op: str) -> list[Line]:
        """The lines of the script of an operation, each with the file and line it came from."""
        operation = self._source(f"ops/{op}")
        self._placed = set()
        self._shared = self._closure(operation.uses)
        used = self._place(operation.uses)
        used += self._before_later(operation)
        body = self._items(operation, runs_state=True)
        opening = _composed("local shard, again = KEYS[1], ARGV[1] == '1'")
        if operation.flags:
            # With these the server goes on where it would refuse, as when its memory is full.
            opening.lines.insert(0, (f"#!lua flags={','.join(operation.flags)}", ("composed", 1)))
        named = [_composed(line) for line in operation.argument_lines()]
        return _lines(_shaken([opening, *used, *named, *body]))

    def _closure(self, names: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for name in names:
            if name not in self._closures:
                beneath = self._closure(self._source(f"lib/{name}").uses)
                self._closures[name] = frozenset({name, *beneath})
            found |= self._closures[name]
        return found

    def _beneath(self, later: Iterable[str], seen: set[str] | None = None) -> set[str]:
        """What later functions use, and the later functions of what they use, however deep."""
        seen = set() if seen is None else seen
        found: set[str] = set()
        for name in set(later) - seen:
            seen.add(name)
            file = self._source(f"lib/{name}")
            used = self._closure(file.uses)
            deeper = {one for each in used for one in self._source(f"lib/{each}").later}
            found |= used | self._beneath(deeper | set(file.later), seen)
        return found

    def _place(self, names: Iterable[str]) -> list[Item]:
        """Every file once, what is used before what uses it."""
        items: list[Item] = []
        for name in names:
            if name not in self._placed:
                self._placed.add(name)
                file = self._source(f"lib/{name}")
                items += self._place(file.uses)
                items += self._before_later(file)
                items += self._items(file)
        return items

    def _before_later(self, file: Source) -> list[Item]:
        # What the whole script shares must not be made a second time inside a later function.
        shared = self._beneath(file.later) & self._shared
        return self._place(sorted(shared))

    def _items(self, file: Source, *, runs_state: bool = False) -> list[Item]:
        items: list[Item] = []
        for part in _parts(file.name, file.text, runs_state=runs_state):
            if isinstance(part, Item):
                items.append(replace(part))
            else:
                items += [self._later(name) for name in part]
        return items

    def _later(self, name: str) -> Later:
        file = self._source(f"lib/{name}")
        placed, shared = set(self._placed), set(self._shared)
        self._shared |= self._closure(file.uses)
        inner = self._place(file.uses) + self._before_later(file)
        inner += self._items(file, runs_state=True)
        self._placed, self._shared = placed, shared
        return Later("function", [], frozenset([name]), frozenset(), inner)


@cache
def _parts(name: str, text: str, *, runs_state: bool) -> list[Item | list[str]]:
    """What a file is made of: its statements, and the names of later functions in their places."""
    parts: list[Item | list[str]] = []
    for statement in _statements(name, text):
        found = LATER.match(statement[0][0])
        parts.append(found[1].split() if found else _item(statement, runs_state=runs_state))
    return parts


def _statements(name: str, text: str) -> Iterator[list[Line]]:
    """The top-level statements of a file without its comments; `later` stays."""
    statement: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        origin = (f"{name}.lua", number)
        if LATER.match(line):
            yield [(line, origin)]
        elif line.strip() and not line.lstrip().startswith("--"):
            statement.append((_compiled(line), origin))
            closes = line[0] in "eu})" if len(statement) > 1 else not _OPENS.search(line)
            continues = line.startswith(("else", ") "))
            if line[0] not in " \t" and closes and not continues:
                yield statement
                statement = []
    if statement:
        yield statement


def _item(statement: list[Line], *, runs_state: bool) -> Item:
    text = "\n".join(_STRING.sub("''", line) for line, _ in statement)
    names = frozenset(_NAME.findall(text))
    function = _FUNCTION.match(text)
    if function:
        return Item("function", statement, frozenset([function[1]]), names)
    state = _STATE.match(text)
    if state and not runs_state:
        kind = "constant" if state[1].isupper() else "state"
        return Item(kind, statement, frozenset(_NAME.findall(state[1])), names)
    return Item("runs", statement, frozenset(), names)


def _shaken(items: list[Item]) -> list[Item]:
    """What is reached by what runs; what only later functions reach goes into them."""
    defined = {name: item for item in items for name in item.defines}
    kept = {id(item) for item in items if item.kind == "runs"}

    def reach(names: Iterable[str], into: set[int]) -> None:
        for name in names:
            item = defined.get(name)
            if item is not None and id(item) not in kept and id(item) not in into:
                into.add(id(item))
                reach(item.names, into)

    main: set[int] = set()
    for item in items:
        if item.kind == "runs":
            reach(item.names, main)
    kept |= main
    # From the last to the first: a later function may be reached by one that comes after it.
    for later in reversed([item for item in items if isinstance(item, Later)]):
        if id(later) in kept:
            _fill(later, items, kept, reach)
    return [item for item in items if id(item) in kept]


def _fill(
    later: Later,
    items: list[Item],
    kept: set[int],
    reach: Callable[[Iterable[str], set[int]], None],
) -> None:
    wanted: set[int] = set()
    reach(later.inner_names(), wanted)
    reached = [item for item in items if id(item) in wanted]
    kept |= {id(item) for item in reached if item.kind == "state" or isinstance(item, Later)}
    moved = [item for item in reached if id(item) not in kept]
    later.inner = _shaken([*moved, *later.inner])


def _lines(items: Iterable[Item]) -> list[Line]:
    lines: list[Line] = []
    for item in items:
        if isinstance(item, Later):
            [name] = item.defines
            lines += _composed(
                f"local {name} do local made function {name}(...) "
                "if not made then made = (function()"
            ).lines
            lines += _lines(item.inner)
            lines += _composed("end)() end return made(...) end end").lines
        else:
            lines += item.lines
    return lines


def _composed(line: str) -> Item:
    return Item("runs", [(line, ("composed", 1))], frozenset(), frozenset())


def _compiled(line: str) -> str:
    """Fields of a job by position, as job.state is read faster as job[1]; keys without a call."""
    by_position = _FIELD.sub(lambda found: f"{found[1]}[{_POSITIONS[found[2]]}]", line)
    return _KEY.sub(r"(shard .. '\1:' .. \2)", by_position)
