"""The Lua files of the repository."""

from __future__ import annotations

import re

from headrace.engine.source import LUA

FILES = {
    f"{folder}/{item.name.removesuffix('.lua')}": item.read_text()
    for folder in ("lib", "ops")
    for item in (LUA / folder).iterdir()
    if item.name.endswith(".lua")
}


def code(text: str) -> str:
    """Return a Lua text without its comments."""
    return re.sub(r"--.*", "", text)
