"""Run luacheck over the composed library and over each Lua file alone.

The composed library may use no global variable. A file alone may use only the names that it
defines, the names that it imports, its arguments, and the variables of every call.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.engine.compose import defined, local_names
from headrace.engine.keys import lua_keys
from headrace.engine.script import LIBRARY, source
from headrace.engine.source import LUA, LuaFile, libraries

GLOBALS = ("redis", "cmsgpack", "cjson", "struct")
# 431: a file may have a local variable named like a library name that it does not import.
# 532: the composer sets state without a value to nil, `lib.a, lib.b = nil`.
IGNORED = ("431", "532")
# 111, 112, 113: an undefined global variable is set, changed or read.
# 532: an assignment has fewer values than variables.
FORBIDDEN = ("111", "112", "113", "532")


def main() -> int:
    luacheck = shutil.which("luacheck")
    if luacheck is None:
        print("luacheck is not installed (Debian: lua-check): Lua is compiled by the tests only")
        return 0
    with tempfile.TemporaryDirectory() as composed, tempfile.TemporaryDirectory() as files:
        (Path(composed) / "library.lua").write_text(LIBRARY.text.replace("#!lua", "-- #!lua", 1))
        _write_files(Path(files))
        return max(
            _run(luacheck, composed, "--read-globals", *GLOBALS, "--ignore", *IGNORED),
            _run(luacheck, files, "--read-globals", *GLOBALS, "--only", *FORBIDDEN),
        )


def _write_files(folder: Path) -> None:
    exports = {name: defined(source(f"lib/{name}")) for name in libraries()}
    exports["keys"] |= set(lua_keys())
    root = Path(str(LUA))
    for path in root.glob("*/*/*.lua"):
        file = source(f"{path.parent.parent.name}/{path.stem}")
        names = _names(file, exports) | ({"shard"} if path.stem == "keys" else set())
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        # The option replaces the first line, so that line numbers do not change.
        _, _, rest = path.read_text().partition("\n")
        copy.write_text(f"-- luacheck: globals {' '.join(sorted(names))}\n{rest}")


def _names(file: LuaFile, exports: dict[str, set[str]]) -> set[str]:
    """Return the names that a file may use without defining them."""
    names = {"again", "may_change_jobs", "use_state", "each"} | local_names(
        " ".join(file.argument_lines())
    )
    if "now" in file.uses:
        names.add("now")
    return names.union(*(exports[used] for used in file.uses))


def _run(luacheck: str, folder: str, *options: str) -> int:
    ran = subprocess.run(
        [luacheck, "--std", "lua51", "--no-max-line-length", "-q", "--codes", *options, "--", "."],
        cwd=folder,
        check=False,
    )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
