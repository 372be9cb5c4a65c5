"""The Lua files of the repository, by their short names: `ops/put`, `lib/keys`."""

from __future__ import annotations

import re

from headrace.engine.source import LUA

PATHS = {
    f"{kind}/{file.name.removesuffix('.lua')}": f"{kind}/{folder.name}/{file.name}"
    for kind in ("lib", "ops")
    for folder in (LUA / kind).iterdir()
    for file in folder.iterdir()
    if file.name.endswith(".lua")
}
FILES = {name: (LUA / path).read_text() for name, path in PATHS.items()}


def code(text: str) -> str:
    """Return a Lua text without its comments."""
    return re.sub(r"--.*", "", text)
