"""The composer: makes the text of one script from an operation and the libraries it uses.

Creating a function costs time in every call of a script, even if the function is never called. So
a script contains only the functions that its operation can reach. A library named by `later`
becomes a function whose body, and whatever only that body needs, is created at its first call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from headrace.engine.record import FIELDS
from headrace.engine.source import LATER, LuaFile

SourceLine = tuple[str, tuple[str, int]]

_FIELD = re.compile(r"\b((?:[a-z]+_)?job)\.([a-z_]+)")
_KEY = re.compile(r"\bkey\('(\w+)', ([a-z]\w*(?:\[\d+\])?)\)")
_POSITIONS = {name: position for position, name in enumerate(FIELDS, 1)}
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'")
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_FUNCTION = re.compile(r"local function (\w+)")
_STATE = re.compile(r"local ([\w, ]+)")
_BINDS = re.compile(
    r"\blocal (?!function)([\w, ]+)|\bfor ([\w, ]+) (?:=|in)|\bfunction ?([\w.]*)\(([\w, .]*)\)"
    r"|[{,]\s*([a-z]\w*) =(?!=)"
)
# Lua's words, its standard library, the libraries of the server, and what every script begins with.
_GLOBALS = frozenset(
    (
        *("and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in"),
        *("local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"),
        *("error", "ipairs", "math", "next", "pairs", "pcall", "select", "string", "table"),
        *("tonumber", "tostring", "type", "unpack"),
        *("cjson", "cmsgpack", "redis", "struct"),
        *("again", "shard"),
    )
)
_OPENS = re.compile(r"(^(local )?function |^do$|function\(.*\)$|[({]$|\bthen$|\bdo$|^repeat$)")


@dataclass(slots=True)
class Statement:
    """A top-level statement of a file.

    A statement that `runs` is always part of the script, the others only if they are reached.
    `state` exists once. Functions and constants (in capitals) may be repeated inside a deferred
    function.
    """

    kind: str
    lines: list[SourceLine]
    defines: frozenset[str]
    names: frozenset[str]


@dataclass(slots=True)
class DeferredFunction(Statement):
    """A function that is created at its first call, and the statements of its body."""

    inner: list[Statement] = field(default_factory=list)

    def inner_names(self) -> set[str]:
        """Return every name used in the body, at any depth."""
        found: set[str] = set()
        for item in self.inner:
            found |= item.inner_names() if isinstance(item, DeferredFunction) else item.names
        return found


class Composer:
    """Composes the scripts of operations."""

    def __init__(self, source_of: Callable[[str], LuaFile]) -> None:
        self._source = source_of
        self._placed: set[str] = set()
        self._shared: set[str] = set()
        self._closures: dict[str, frozenset[str]] = {}

    def compose(self, op: str) -> list[SourceLine]:
        """Return the lines of an operation's script, each with its file and line number.

        Raises ValueError if a file uses a variable that it neither defines nor imports nor
        declares as needed, or if a file that includes it does not provide such a variable.
        """
        operation = self._source(f"ops/{op}")
        if operation.needs:
            raise ValueError(f"{operation.name}.lua is an operation: nothing can provide its needs")
        self.check_names(operation)
        self._placed = set()
        self._shared = self._closure(operation.uses)
        used = self._place(operation.uses)
        used += self._before_later(operation)
        body = self._items(operation, runs_state=True)
        opening = _composed("local shard, again = KEYS[1], ARGV[1] == '1'")
        if operation.flags:
            # With these flags the server runs the script where it would otherwise refuse it, for
            # example when its memory is full.
            opening.lines.insert(0, (f"#!lua flags={','.join(operation.flags)}", ("composed", 1)))
        named = [_composed(line) for line in operation.argument_lines()]
        return _lines(_shaken([opening, *used, *named, *body]))

    def check_names(self, file: LuaFile) -> None:
        """Raise ValueError if the file or a library that it includes lacks a variable."""
        imported = self.imported_names(file)
        own = _defined(file.name, file.text) | file.argument_names() | set(file.later)
        lacking = _used(file.name, file.text) - imported - own - _GLOBALS
        if lacking:
            raise ValueError(
                f"{file.name}.lua uses {', '.join(sorted(lacking))}: define it, import it with "
                "`uses` or declare it with `needs`"
            )
        # The body of a file follows the libraries that it uses, so it cannot provide for them.
        for names, provided in ((file.uses, imported), (file.later, imported | own)):
            for name in names:
                library = self._source(f"lib/{name}")
                unmet = set(library.needs) - provided
                if unmet:
                    raise ValueError(
                        f"{library.name}.lua needs {', '.join(sorted(unmet))}, which "
                        f"{file.name}.lua does not provide"
                    )

    def imported_names(self, file: LuaFile) -> set[str]:
        """Return the variables that a file has from the libraries it uses and from its needs."""
        imported = set(file.needs)
        for name in file.uses:
            library = self._source(f"lib/{name}")
            imported |= _defined(library.name, library.text) | set(library.later)
        return imported

    def _closure(self, names: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for name in names:
            if name not in self._closures:
                beneath = self._closure(self._source(f"lib/{name}").uses)
                self._closures[name] = frozenset({name, *beneath})
            found |= self._closures[name]
        return found

    def _beneath(self, later: Iterable[str], seen: set[str] | None = None) -> set[str]:
        """Return the libraries that deferred functions use, at any depth."""
        seen = set() if seen is None else seen
        found: set[str] = set()
        for name in set(later) - seen:
            seen.add(name)
            file = self._source(f"lib/{name}")
            used = self._closure(file.uses)
            deeper = {one for each in used for one in self._source(f"lib/{each}").later}
            found |= used | self._beneath(deeper | set(file.later), seen)
        return found

    def _place(self, names: Iterable[str]) -> list[Statement]:
        """Return the statements of each library once, each library after those that it uses."""
        items: list[Statement] = []
        for name in names:
            if name not in self._placed:
                self._placed.add(name)
                file = self._source(f"lib/{name}")
                self.check_names(file)
                items += self._place(file.uses)
                items += self._before_later(file)
                items += self._items(file)
        return items

    def _before_later(self, file: LuaFile) -> list[Statement]:
        # Libraries of the whole script must not be repeated inside a deferred function.
        shared = self._beneath(file.later) & self._shared
        return self._place(sorted(shared))

    def _items(self, file: LuaFile, *, runs_state: bool = False) -> list[Statement]:
        items: list[Statement] = []
        for part in _parts(file.name, file.text, runs_state=runs_state):
            if isinstance(part, Statement):
                items.append(replace(part))
            else:
                items += [self._later(name) for name in part]
        return items

    def _later(self, name: str) -> DeferredFunction:
        file = self._source(f"lib/{name}")
        self.check_names(file)
        placed, shared = set(self._placed), set(self._shared)
        self._shared |= self._closure(file.uses)
        inner = self._place(file.uses) + self._before_later(file)
        inner += self._items(file, runs_state=True)
        self._placed, self._shared = placed, shared
        return DeferredFunction("function", [], frozenset([name]), frozenset(), inner)


@cache
def _parts(name: str, text: str, *, runs_state: bool) -> list[Statement | list[str]]:
    """Split a file into its statements and, in their places, the names of deferred functions."""
    parts: list[Statement | list[str]] = []
    for statement in _statements(name, text):
        found = LATER.match(statement[0][0])
        parts.append(found[1].split() if found else _item(statement, runs_state=runs_state))
    return parts


def _statements(name: str, text: str) -> Iterator[list[SourceLine]]:
    """Yield the top-level statements of a file without comments, but with `later` lines."""
    statement: list[SourceLine] = []
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


def _item(statement: list[SourceLine], *, runs_state: bool) -> Statement:
    text = "\n".join(_STRING.sub("''", line) for line, _ in statement)
    names = frozenset(_NAME.findall(text))
    function = _FUNCTION.match(text)
    if function:
        return Statement("function", statement, frozenset([function[1]]), names)
    state = _STATE.match(text)
    if state and not runs_state:
        kind = "constant" if state[1].isupper() else "state"
        return Statement(kind, statement, frozenset(_NAME.findall(state[1])), names)
    return Statement("runs", statement, frozenset(), names)


@cache
def _defined(name: str, text: str) -> frozenset[str]:
    """Return the variables that the top-level statements of a file define."""
    found: set[str] = set()
    for part in _parts(name, text, runs_state=False):
        if isinstance(part, Statement):
            found |= part.defines
    return frozenset(found)


@cache
def _used(name: str, text: str) -> frozenset[str]:
    """Return the names that a file uses and does not bind itself.

    A name that the file binds anywhere counts as bound everywhere in it: `tests/lint_lua.py` checks
    the same by luacheck, which knows scopes.
    """
    names: set[str] = set()
    bound: set[str] = set()
    for part in _parts(name, text, runs_state=True):
        if isinstance(part, Statement):
            names |= part.names
            lines = "\n".join(_STRING.sub("''", line) for line, _ in part.lines)
            for groups in _BINDS.findall(lines):
                bound.update(_NAME.findall(" ".join(groups)))
    return frozenset(names - bound)


def _shaken(items: list[Statement]) -> list[Statement]:
    """Keep the statements that are reached; move those that only a deferred function reaches."""
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
    # Last to first, because a deferred function may be reached by one that follows it.
    for later in reversed([item for item in items if isinstance(item, DeferredFunction)]):
        if id(later) in kept:
            _fill(later, items, kept, reach)
    return [item for item in items if id(item) in kept]


def _fill(
    later: DeferredFunction,
    items: list[Statement],
    kept: set[int],
    reach: Callable[[Iterable[str], set[int]], None],
) -> None:
    wanted: set[int] = set()
    reach(later.inner_names(), wanted)
    reached = [item for item in items if id(item) in wanted]
    kept |= {
        id(item) for item in reached if item.kind == "state" or isinstance(item, DeferredFunction)
    }
    moved = [item for item in reached if id(item) not in kept]
    later.inner = _shaken([*moved, *later.inner])


def _lines(items: Iterable[Statement]) -> list[SourceLine]:
    lines: list[SourceLine] = []
    for item in items:
        if isinstance(item, DeferredFunction):
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


def _composed(line: str) -> Statement:
    return Statement("runs", [(line, ("composed", 1))], frozenset(), frozenset())


def _compiled(line: str) -> str:
    """Replace field names of a job by positions, and calls of `key` by concatenations.

    Both are faster: `job.state` becomes `job[1]`.
    """
    by_position = _FIELD.sub(lambda found: f"{found[1]}[{_POSITIONS[found[2]]}]", line)
    return _KEY.sub(r"(shard .. '\1:' .. \2)", by_position)
