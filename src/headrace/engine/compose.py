"""The composer: joins all Lua files into the text of one library.

A file sees its own top-level names and the names of the libraries that it imports with `uses`. The
composed text keeps these names in one table, `lib`, because Lua allows only 200 local variables in
a chunk and 60 outer variables in a function. So `read_job(id)` becomes `lib.read_job(id)`. A local
variable is faster, so `with_local_names` makes the names with the most uses local variables.

The top level of a library defines functions, constants (in capitals) and state. Each variable of
the state is defined in one line. State belongs to one call: `use_state` sets the initial values
before a call uses state. begin_call.lua defines the variables of every call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations

from headrace.engine.keys import lua_keys
from headrace.engine.record import FIELDS
from headrace.engine.source import LuaFile, source

# A line of the composed text, and the file and line number that it comes from.
SourceLine = tuple[str, tuple[str, int]]
LuaFiles = Mapping[str, LuaFile]

_FIELD = re.compile(r"\b((?:[a-z]+_)?job)\.([a-z_]+)")
_POSITIONS = {name: position for position, name in enumerate(FIELDS, 1)}
_KEY = re.compile(r"\bkey\('(\w+)', ([a-z]\w*(?:\[\d+\])?)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SHARED = re.compile(r"\blib\.(\w+)")
_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*'|(?<![.\w])(?P<name>[A-Za-z_]\w*)(?P<assigned>(?=\s*=(?!=)))?"
)
_TOP_LEVEL = re.compile(r"^local (?:function (\w+)|([\w, ]+))", re.MULTILINE)
_STATE = re.compile(r"^(?:local |lib\.)(?!function )[a-z]", re.MULTILINE)
_LOCALS = re.compile(r"\b(?:local|for) (?:function )?(\w+(?:, \w+)*)")
_PARAMETERS = re.compile(r"\bfunction ?[\w.]*\(([\w, .]*)\)")
# Lua's keywords and standard library, the server's libraries, and the variables of every call.
_WORDS = """
and break do else elseif end false for function if in local nil not or repeat return then true until
while error ipairs math next pairs pcall select setmetatable string table tonumber tostring type
unpack cjson cmsgpack redis struct again may_change_jobs now
redis_call shard use_state
"""
_GLOBALS = frozenset(_NAME.findall(_WORDS))


def compose(libraries: LuaFiles, operations: LuaFiles) -> list[SourceLine]:
    """Return the lines of the library that registers all operations.

    The lines call `register(name, flags, callback)`, which the caller defines before them. Raises
    ValueError if a file uses a name that it neither defines nor imports, or hides such a name.
    """
    exports = {name: defined(file) for name, file in libraries.items()}
    for one, other in combinations(exports, 2):
        if both := exports[one] & exports[other]:
            raise ValueError(f"{one}.lua and {other}.lua both define {min(both)}")
    exports["keys"] |= lua_keys().keys()

    def shared_names(*names: str) -> frozenset[str]:
        return frozenset().union(*(exports[name] for name in names))

    lines, state = [*_code(source("begin_call"))], list[SourceLine]()
    for name, file in libraries.items():
        for line in _rewritten(file, shared_names(name, *file.uses), is_library=True):
            (state if _STATE.match(line[0]) else lines).append(line)
    keys = (f"lib.{name} = shard .. '{key}'" for name, key in lua_keys().items())
    lines += [*_generated("function use_state()"), *state, *_generated("end")]
    lines += _generated("function lib.set_keys()", *keys, "end")
    for op, file in operations.items():
        lines += _generated(*_opening(op, file, libraries))
        lines += [*_rewritten(file, shared_names(*file.uses)), *_generated("end)", "end")]
    return lines


def with_local_names(text: str) -> str:
    """Return the composed text with local variables instead of the most used fields of `lib`."""
    # 170 names are fewer than Lua allows, because the text has other local variables.
    frequent = {name for name, _ in Counter(_SHARED.findall(text)).most_common(170)}
    used = _SHARED.sub(lambda found: found[1] if found[1] in frequent else found[0], text)
    return f"local {', '.join(sorted(frequent))} {used}"


def defined(file: LuaFile) -> set[str]:
    """Return the top-level names of a library."""
    found = _TOP_LEVEL.findall(file.text)
    return {name for function, names in found for name in _NAME.findall(function or names)}


def imported(file: LuaFile, libraries: LuaFiles) -> set[str]:
    """Return the libraries that a file imports, at any depth."""
    reached = set(file.uses)
    while further := {used for name in reached for used in libraries[name].uses} - reached:
        reached |= further
    return reached


def _opening(op: str, file: LuaFile, libraries: LuaFiles) -> Iterator[str]:
    """Generate the lines before the body of an operation.

    An operation with a short path calls `use_state` itself, because the short path uses no state.
    """
    reached = imported(file, libraries)
    flags = ", ".join(f"'{flag}'" for flag in file.flags)
    yield f"do {file.each_line()}".rstrip()
    yield f"register('{op}', {{{flags}}}, function(KEYS, ARGV)"
    yield "begin_call(KEYS, ARGV)"
    if file.role == "worker":
        refusal = f"NOPERM {op} needs the permissions of a worker"
        yield f"if not may_change_jobs() then return redis.error_reply('{refusal}') end"
    if "now" in reached:
        yield "now = lib.current_time()"
    if "use_state()" not in file.text and any(_STATE.search(libraries[n].text) for n in reached):
        yield "use_state()"
    yield from file.argument_lines()


@cache
def _rewritten(
    file: LuaFile, shared: frozenset[str], *, is_library: bool = False
) -> list[SourceLine]:
    """Return the lines of a file, with `lib.` before each shared name.

    The top-level variables of a library are not local, and state without a value becomes nil.
    """
    rewritten, used = list[SourceLine](), set[str]()
    bound = local_names(" ".join(file.argument_lines())) | ({"each"} if file.each else set())

    def qualify(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None or (found["assigned"] is not None and _is_field(found)):
            return found[0]
        used.add(name)
        return f"lib.{name}" if name in shared else name

    for text, origin in _code(file):
        line = text.removeprefix("local ") if is_library else text
        bound |= local_names(line)
        is_unset = line != text and not line.startswith("function ") and "=" not in line
        rewritten.append((_TOKEN.sub(qualify, _compiled(line)) + " = nil" * is_unset, origin))
    if hidden := shared & bound:
        raise ValueError(f"{file.name} hides {min(hidden)}: rename the local variable")
    if lacking := used - shared - bound - _GLOBALS:
        raise ValueError(f"{file.name} uses {min(lacking)}: define it, or import its library")
    return rewritten


def local_names(text: str) -> set[str]:
    """Return the local variables and parameters that a Lua text defines."""
    found = [*_LOCALS.findall(text), *_PARAMETERS.findall(text)]
    return {name for names in found for name in _NAME.findall(names)}


def _is_field(found: re.Match[str]) -> bool:
    """Return whether an assigned name is a field in a table constructor."""
    before = found.string[: found.start()]
    return before.count("{") > before.count("}") or (not before.strip() and found.string[-1] == ",")


def _code(file: LuaFile) -> Iterator[SourceLine]:
    """Generate the lines of a file that are neither empty nor comments."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("--"):
            yield line, (f"{file.name}", number)


def _generated(*texts: str) -> list[SourceLine]:
    return [(text, ("composed", 1)) for text in texts]


def _compiled(line: str) -> str:
    """Replace names with faster expressions.

    Fields of a job become positions (`job.state` is `job[1]`), and calls of `key` concatenations.
    """
    by_position = _FIELD.sub(lambda found: f"{found[1]}[{_POSITIONS[found[2]]}]", line)
    with_keys = _KEY.sub(r"(shard .. '\1:' .. \2)", by_position)
    return with_keys.replace("redis.call(", "redis_call(")
