"""Run luacheck over the composed library and over each Lua file alone.

The composed library may use no global variable. A file alone may use only the names that it
defines, the names that it imports, its arguments, and the variables of every call. No local
variable of a file may hide one of these names, and no two libraries may define the same name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from headrace.engine.compose import LuaFiles, defined
from headrace.engine.script import LIBRARY
from headrace.engine.source import LuaFile, libraries, operations, source

GLOBALS = ("redis", "cmsgpack", "cjson", "struct", "KEYS", "ARGV")
# 431: a file may have a local variable named like a library name that it does not import.
# 532: the composer sets state without a value to nil, `lib.a, lib.b = nil`.
IGNORED = ("431", "532")
# 11: an undefined global variable is set, changed or read.
# 4: a variable hides or redefines another variable.
# 532: an assignment has fewer values than variables.
FORBIDDEN = ("11", "4", "532")
# The names of begin_call.lua that other files use.
OF_EVERY_CALL = {"again", "call_ticket", "may_change_jobs", "short_name", "use_state"}


def main() -> int:
    if shutil.which("luacheck") is None:
        print("luacheck is not installed (Debian: lua-check): Lua is compiled by the tests only")
        return 0
    complaints = [
        *lint_library(),
        *lint_files(
            {name: source(f"lib/{name}") for name in libraries()},
            {op: source(f"ops/{op}") for op in operations()},
        ),
    ]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


def lint_library() -> list[str]:
    """Return the complaints about the composed library."""
    text = LIBRARY.text.replace("#!lua", "-- #!lua", 1)
    return _luacheck({"library.lua": text}, "--ignore", *IGNORED)


def lint_files(libraries: LuaFiles, operations: LuaFiles) -> list[str]:
    """Return the complaints about each file alone, and about names that two libraries define."""
    exports = {name: defined(file) for name, file in libraries.items()}
    texts = {}
    for file in (*libraries.values(), *operations.values()):
        names = ", ".join(sorted(_names(file, exports)))
        # The declaration replaces the first line, so that line numbers do not change.
        _, _, rest = file.text.partition("\n")
        texts[file.name] = f"local {names} -- luacheck: ignore 211 221\n{rest}"
    return [
        *_defined_twice(exports),
        *_hidden_imports(operations.values(), exports),
        *_luacheck(texts, "--only", *FORBIDDEN),
    ]


def _names(file: LuaFile, exports: Mapping[str, set[str]]) -> set[str]:
    """Return the names that a file may use without defining them."""
    names = {*OF_EVERY_CALL, *(argument.name for argument in file.args)}
    if file.each:
        names.add("each")
    if "now" in file.uses:
        names.add("now")
    if file.name.endswith("/keys.lua"):
        names.add("shard")
    return names.union(*(exports[used] for used in file.uses))


def _defined_twice(exports: Mapping[str, set[str]]) -> Iterator[str]:
    for one, other in combinations(exports, 2):
        for name in sorted(exports[one] & exports[other]):
            yield f"{one}.lua and {other}.lua both define {name}"


def _hidden_imports(
    operations: Iterable[LuaFile], exports: Mapping[str, set[str]]
) -> Iterator[str]:
    for file in operations:
        imports = set().union(*(exports[used] for used in file.uses))
        for argument in file.args:
            if argument.name in imports:
                yield f"{file.name} has an argument named like an import: {argument.name}"


def _luacheck(texts: Mapping[str, str], *options: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        ran = subprocess.run(
            [
                *("luacheck", "--std", "lua51", "--no-max-line-length", "-q", "--codes"),
                *("--formatter", "plain", "--read-globals", *GLOBALS),
                *(*options, "--", "."),
            ],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
    return [*ran.stdout.splitlines(), *ran.stderr.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
