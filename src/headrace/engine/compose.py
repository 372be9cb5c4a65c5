"""The composer: joins all Lua files into the text of one library.

A file sees its own top-level names and the names of the libraries that it imports with `uses`. Lua
allows only 200 local variables in a chunk. The top-level names with the most uses are therefore
local variables of the chunk, and the other names are fields of the table `lib`: `park(lane)`
becomes `lib.park(lane)`. tests/lint_lua.py checks that each file imports the names that it uses.

The top level of a library defines functions, constants (in capitals) and state. Each variable of
the state is defined in one line. State belongs to one call: `use_state` sets the initial values
before a call uses state. begin_call.lua defines the variables of every call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from headrace.engine.keys import lua_keys
from headrace.engine.record import FIELDS
from headrace.engine.source import LuaFile, source

LuaFiles = Mapping[str, LuaFile]

_TOP_LEVEL = re.compile(r"^local (?:function )?(\w+(?:, \w+)*)", re.MULTILINE)
_STATE = re.compile(r"^local ((?!function )[a-z].*)", re.MULTILINE)
_LOCAL = re.compile(r"^local ", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_NAME_OR_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|(?<![.\w])[A-Za-z_]\w*")
_FIELD = re.compile(r"\b((?:[a-z]+_)?job)\.([a-z_]+)")
_POSITIONS = {name: position for position, name in enumerate(FIELDS, 1)}
_KEY = re.compile(r"\bkey\('(\w+)', ([a-z]\w*(?:\[\d+\])?)\)")
# The chunk has other local variables, for example those of begin_call.lua.
_LOCAL_NAMES = 170
# The libraries that the text after the body of an operation uses.
CLOSING_LIBRARIES = {"contact", "now", "remembered_answers"}


def compose(libraries: LuaFiles, operations: LuaFiles) -> str:
    """Return the text that registers all operations as functions, or runs one as a script.

    The caller defines the variable `function_prefix` before the text; a script has no prefix. A
    comment `-- from <file>` is above the lines of each Lua file.
    """
    exports = {name: defined(file) for name, file in libraries.items()}
    code = "\n".join(file.code for file in (*libraries.values(), *operations.values()))
    names = set().union(*exports.values())
    uses = Counter(name for name in _NAME.findall(code) if name in names)
    # `_opening` adds this call to operations that import no library with this name.
    if "note_call" in names:
        uses["note_call"] += len(operations)
    local = {name for name, _ in uses.most_common(_LOCAL_NAMES)}

    def qualified(text: str, imports: set[str]) -> str:
        fields = set().union(*(exports.get(name, set()) for name in imports)) - local
        return _NAME_OR_STRING.sub(
            lambda found: f"lib.{found[0]}" if found[0] in fields else found[0], text
        )

    texts = [f"local {', '.join(sorted(local))} -- from begin_call.lua", source("begin_call").code]
    state = list[str]()
    for name, file in libraries.items():
        imports = {name, *file.uses}
        state += [qualified(line, imports) for line in _STATE.findall(file.code)]
        rest = _LOCAL.sub("", _STATE.sub("", _compiled(file.code)))
        texts += [f"-- from {file.name}", qualified(rest, imports)]
    keys = (f"{name} = shard .. '{key}'" for name, key in lua_keys().items())
    texts += ["-- from compose.py", "function use_state()"]
    texts += [line if "=" in line else f"{line} = nil" for line in state]
    texts += ["end", "function lib.set_keys()", qualified("\n".join(keys), {"keys"}), "end"]
    for op, file in operations.items():
        imports = imported(file, libraries)
        uses_state = any(_STATE.search(libraries[name].code) for name in imports)
        opening = " ".join(_opening(op, file, uses_time="now" in imports, uses_state=uses_state))
        body = qualified(_compiled(file.code), set(file.uses))
        opening = qualified(opening, {*imports, "contact"})
        closing = qualified(" ".join(_closing(op, file)), CLOSING_LIBRARIES)
        texts += [f"do {opening} -- from {file.name}", body, f"{closing} end"]
    call = "return registered[table.remove(ARGV)](KEYS, ARGV)"
    return "\n".join([*texts, f"if not function_prefix then {call} end"])


def defined(file: LuaFile) -> set[str]:
    """Return the top-level names of a library."""
    names = {name for found in _TOP_LEVEL.findall(file.code) for name in _NAME.findall(found)}
    return names.union(lua_keys()) if file.name.endswith("/keys.lua") else names


def imported(file: LuaFile, libraries: LuaFiles) -> set[str]:
    """Return the libraries that a file imports, directly or through other libraries."""
    reached = set(file.uses)
    while further := {used for name in reached for used in libraries[name].uses} - reached:
        reached |= further
    return reached


def _opening(op: str, file: LuaFile, *, uses_time: bool, uses_state: bool) -> Iterator[str]:
    """Generate the Lua text before the body of an operation.

    Some operations handle common calls on a short path, which uses no state. These operations call
    `use_state` themselves, after the short path.
    """
    if file.each:
        yield file.each_text()
    if file.nonce:
        yield "local function run_operation()"
    else:
        yield from _beginning(op, file, uses_time=uses_time)
    if uses_state and "use_state()" not in file.code:
        yield "use_state()"
    if file.args:
        yield file.arguments_text()


def _beginning(op: str, file: LuaFile, *, uses_time: bool) -> Iterator[str]:
    """Generate the beginning of the registered function."""
    yield f"register('{op}', {{{', '.join(map(repr, file.flags))}}},"
    yield "function(KEYS, ARGV) begin_call(KEYS, ARGV)"
    if file.role == "worker":
        yield f"if not may_change_jobs() then return refused_user('{op}') end"
    if uses_time:
        yield "now = current_time()"
        if file.role != "observer":
            yield "note_call()"


def _closing(op: str, file: LuaFile) -> Iterator[str]:
    """Generate the Lua text after the body of an operation."""
    if file.nonce:
        yield "end"
        yield from _beginning(op, file, uses_time=True)
        yield "if again then return run_once(run_operation) end return run_operation()"
    yield "end)"


def _compiled(code: str) -> str:
    """Replace names with faster expressions.

    Fields of a job become positions (`job.state` is `job[1]`), and calls of `key` concatenations.
    """
    by_position = _FIELD.sub(lambda found: f"{found[1]}[{_POSITIONS[found[2]]}]", code)
    with_keys = _KEY.sub(r"(shard .. '\1:' .. \2)", by_position)
    return with_keys.replace("redis.call(", "redis_call(")
