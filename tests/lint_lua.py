"""Run luacheck over the composed scripts; the sources alone would have undefined names."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.engine.script import Library, operations

GLOBALS = ["redis", "cmsgpack", "cjson", "struct", "KEYS", "ARGV"]


def main() -> int:
    luacheck = shutil.which("luacheck")
    if luacheck is None:
        print("luacheck is not installed (Debian: lua-check): Lua is compiled by the tests only")
        return 0
    library = Library()
    with tempfile.TemporaryDirectory() as folder:
        for op in operations():
            Path(folder, f"{op}.lua").write_text(library[op].text.replace("#!lua", "-- #!lua"))
        ran = subprocess.run(
            [
                luacheck,
                "--std",
                "lua51",
                "--read-globals",
                *GLOBALS,
                # 211, 231: a library file may define more than one operation needs.
                # 411, 421, 431: an argument may have a name of another file of the script.
                "--ignore",
                "211",
                "231",
                "411",
                "421",
                "431",
                "--no-max-line-length",
                "--quiet",
                "--codes",
                "--",
                folder,
            ],
            check=False,
        )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
