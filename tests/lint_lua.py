"""Run luacheck over the composed scripts and over each Lua file alone.

A composed script may use no global variable. A file alone may use only the names that it defines
or that its header declares.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.engine.compose import Composer
from headrace.engine.script import Library, operations, source
from headrace.engine.source import LUA

GLOBALS = ("redis", "cmsgpack", "cjson", "struct")
# 211, 231: a lib file may define more than one operation needs.
# 411, 421, 431: an argument may have the same name as a variable in another file of the script.
IGNORED = ("211", "231", "411", "421", "431")
# 111, 112, 113: an undefined global variable is set, changed or read.
UNDEFINED = ("111", "112", "113")


def main() -> int:
    luacheck = shutil.which("luacheck")
    if luacheck is None:
        print("luacheck is not installed (Debian: lua-check): Lua is compiled by the tests only")
        return 0
    with tempfile.TemporaryDirectory() as scripts, tempfile.TemporaryDirectory() as files:
        _write_scripts(Path(scripts))
        _write_files(Path(files))
        return max(
            _run(
                luacheck, scripts, "--read-globals", *GLOBALS, "KEYS", "ARGV", "--ignore", *IGNORED
            ),
            _run(luacheck, files, "--read-globals", *GLOBALS, "--only", *UNDEFINED),
        )


def _write_scripts(folder: Path) -> None:
    library = Library()
    for op in operations():
        (folder / f"{op}.lua").write_text(library[op].text.replace("#!lua", "-- #!lua"))


def _write_files(folder: Path) -> None:
    composer = Composer(source)
    root = Path(str(LUA))
    for path in root.glob("*/*/*.lua"):
        file = source(f"{path.parent.parent.name}/{path.stem}")
        names = composer.imported_names(file) | file.argument_names() | {*file.later, "again"}
        if path.stem == "keys":
            names.add("shard")
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        # The option takes the place of the first line, so that line numbers do not change.
        _, _, rest = path.read_text().partition("\n")
        copy.write_text(f"-- luacheck: globals {' '.join(sorted(names))}\n{rest}")


def _run(luacheck: str, folder: str, *options: str) -> int:
    ran = subprocess.run(
        [luacheck, "--std", "lua51", "--no-max-line-length", "-q", "--codes", *options, "--", "."],
        cwd=folder,
        check=False,
    )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
