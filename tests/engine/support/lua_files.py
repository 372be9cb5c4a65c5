"""The Lua files of the repository, by their short names: `ops/put`, `lib/keys`."""

from __future__ import annotations

import re

from headrace.engine.compose import imported
from headrace.engine.source import LUA, libraries, source

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


def reached(op: str) -> str:
    """Return the text of an operation and of all libraries that it reaches, without comments."""
    file = source(f"ops/{op}")
    known = {name: source(f"lib/{name}") for name in libraries()}
    return "\n".join(code(used.text) for used in (file, *(known[n] for n in imported(file, known))))
