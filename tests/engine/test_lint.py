"""`make check` finds wrong names in Lua files."""

from __future__ import annotations

import re
import shutil

import pytest

from headrace.engine.script import operations, source
from headrace.engine.source import libraries
from tests.engine.support.lua_files import FILES, PATHS
from tests.lint_lua import lint_files

pytestmark = pytest.mark.skipif(shutil.which("luacheck") is None, reason="needs luacheck")


def complaints(name: str, old: str, new: str) -> list[str]:
    """Return the complaints about the Lua files if one text of a file is replaced."""
    assert old in FILES[name]
    changed = {name: FILES[name].replace(old, new, 1)}
    return lint_files(
        {lib: source(f"lib/{lib}", changed.get(f"lib/{lib}")) for lib in libraries()},
        {op: source(f"ops/{op}", changed.get(f"ops/{op}")) for op in operations()},
    )


def test_the_lua_files_use_only_names_that_they_define_or_import() -> None:
    assert complaints("ops/put", "use_state()", "use_state()") == []


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        (
            "lib/pop_general",
            " hand_out",
            "",
            "W113) accessing undefined variable 'granted'",
        ),
        (
            "lib/setting_value",
            "own or",
            "mine or",
            "W113) accessing undefined variable 'mine'",
        ),
        (
            "ops/put",
            "args   queue:short_name options:packed",
            "args   queue:short_name choices:packed",
            "W113) accessing undefined variable 'options'",
        ),
        (
            "ops/put",
            "\nuse_state()",
            "\nlocal now_and_then = seldom()\nuse_state()",
            "W113) accessing undefined variable 'seldom'",
        ),
        (
            "lib/settings",
            "  queue_settings[queue] = nil",
            "  queue_setings = nil",
            "W111) setting non-standard global variable 'queue_setings'",
        ),
        (
            "lib/pop_general",
            "local function take_waiting(most)",
            "local function take_waiting(granted)",
            "W431) shadowing upvalue 'granted' on line 1",
        ),
        (
            "lib/pop_general",
            "  local ids = {}",
            "  local wake = {}",
            "W431) shadowing upvalue 'wake' on line 1",
        ),
        (
            "lib/pop_general",
            "  for i = 1, #found do",
            "  for settings = 1, #found do",
            "W431) shadowing upvalue 'settings' on line 1",
        ),
        (
            "ops/put",
            "\nlocal made, left",
            "\nlocal write_back\nlocal made, left",
            "W411) variable 'write_back' was previously defined on line 1",
        ),
    ],
    ids=[
        "used without an import",
        "defined nowhere",
        "used without an argument",
        "used by an operation",
        "set without a definition",
        "hidden by a parameter",
        "hidden by a variable",
        "hidden by a loop",
        "hidden by a variable of an operation",
    ],
)
def test_a_wrong_name_is_found(name: str, old: str, new: str, complaint: str) -> None:
    found = complaints(name, old, new)

    assert any(one.startswith(PATHS[name]) and complaint in one for one in found), found
    assert all(re.match(rf"{PATHS[name]}:\d+:", one) for one in found)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "local function forget_settings(",
            "local function read_job() end\n\nlocal function forget_settings(",
            "job_records.lua and settings.lua both define read_job",
        ),
        (
            "local queue_settings = {}",
            "local queue_settings, books = {}, {}",
            "books.lua and settings.lua both define books",
        ),
    ],
    ids=["a function", "a variable"],
)
def test_a_name_that_two_libraries_define_is_found(old: str, new: str, complaint: str) -> None:
    assert complaint in complaints("lib/settings", old, new)


def test_an_argument_named_like_an_import_is_found() -> None:
    found = complaints("ops/put", "args   queue", "args   queue write_back")
    assert found == ["ops/jobs/put.lua has an argument named like an import: write_back"]
