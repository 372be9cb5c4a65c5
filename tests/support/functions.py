"""The two forms of the library, function and script, and servers that refuse functions."""

from __future__ import annotations

import math
from typing import Any

import pytest
import redis

from headrace.engine.script import LIBRARY, Library, operations
from headrace.operations.core import Core

FORMS = ("function", "script")


def use_only_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all clients that this process opens call the library as a script."""
    make = Core.__init__

    def make_with_scripts(core: Core, *arguments: Any, **options: Any) -> None:
        make(core, *arguments, **options)
        core._scripts_until = math.inf

    monkeypatch.setattr(Core, "__init__", make_with_scripts)


def words_of(sent: list[str]) -> list[str]:
    """Return the first word of each command, with the second of SCRIPT and FUNCTION."""
    split = [line.split() for line in sent]
    return [" ".join(words[: 2 if words[0] in {"SCRIPT", "FUNCTION"} else 1]) for words in split]


def user_without(url: str, *commands: str) -> str:
    """Create a user who may run all commands except these; return the URL for this user."""
    with redis.Redis.from_url(url) as admin:
        admin.acl_setuser(
            "limited",
            enabled=True,
            passwords=["+secret"],
            keys=["*"],
            channels=["*"],
            commands=["+@all", *(f"-{command}" for command in commands)],
        )
    return url.replace("://", "://limited:secret@")


def functions_of(server: redis.Redis, library: str) -> set[str]:
    """Return the names of all functions of a library that a server has loaded."""
    found: Any = server.execute_command("FUNCTION", "LIST", "LIBRARYNAME", library)
    functions = [function for listed in found for function in _fields(listed)[b"functions"]]
    return {_fields(function)[b"name"].decode() for function in functions}


def has_library(server: redis.Redis, form: str, library: Library = LIBRARY) -> bool:
    """Return whether a server has the library in this form."""
    if form == "script":
        return server.script_exists(library.operations["put"].script.sha.decode()) == [True]
    names = functions_of(server, library.name)
    assert names in (set(), {library.operations[op].name for op in operations()})
    return names != set()


def forget_library(server: redis.Redis) -> None:
    """Delete all functions and scripts of a server, even if it is a replica."""
    server.config_set("replica-read-only", "no")
    server.function_flush()
    server.script_flush()
    server.config_set("replica-read-only", "yes")


def load_scripts(server: redis.Redis, library: Library = LIBRARY) -> None:
    """Load the library on a server in the form of scripts."""
    for text in {library.operations[op].script.text for op in operations()}:
        server.script_load(text)


def _fields(values: Any) -> dict[bytes, Any]:
    """Return the fields of a reply, which is a dictionary or a flat list."""
    return values if isinstance(values, dict) else dict(zip(values[::2], values[1::2], strict=True))
