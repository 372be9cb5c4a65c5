"""What the command line says of itself, and how little it loads to say so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest
import typer
from typer.main import get_command

from headrace.cli.lake.command import COMMANDS
from headrace.cli.main import PANELS, app
from tests.cli.conftest import Type
from tests.docs.pages import ROOT

NAMES = [command.__name__.rstrip("_") for commands in PANELS.values() for command in commands]
OF_LAKE = [f"lake {command.__name__}" for command in COMMANDS]
EXAMPLES = [
    *(example for commands in PANELS.values() for example in commands.values()),
    *COMMANDS.values(),
]


def loaded(code: str, **env: str) -> set[str]:
    """The packages that are loaded when this has run."""
    told = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('loaded', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    return {name.partition(".")[0] for name in told.stdout.rpartition("loaded")[2].split()}


def test_the_commands_are_listed_in_panels(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    said = typed("--help")

    panels = re.findall(r"^╭─ (\w+) ─+╮$", said.out, re.MULTILINE)
    assert panels == ["Options", "Look", "Operate", "Run", "Server", "History"]
    for name in (*NAMES, "lake"):
        assert re.search(rf"^│ {name} +[A-Z]", said.out, re.MULTILINE), name


@pytest.mark.parametrize("name", NAMES + OF_LAKE)
def test_every_command_has_help_with_an_example_and_json(
    typed: Type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    said = typed(*name.split(), "--help")

    assert said.code == 0
    assert f"Example: headrace {name}" in said.out
    assert "--json" in said.out


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_can_be_typed(example: str) -> None:
    _, name, *words = shlex.split(example)
    command: Any = get_command(app).commands[name]  # type: ignore[attr-defined]
    if hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]

    with typer.Context(command, resilient_parsing=False) as parent:
        command.make_context(name, words, parent)


def test_the_page_of_the_command_line_names_every_command() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    listed = page.partition("\n## Commands")[2].partition("\n## ")[0]
    shown = re.findall(r"`([^`]+)`", listed)

    assert set(NAMES) <= {words.split()[0] for words in shown}
    assert set(OF_LAKE) <= set(shown)


def test_the_package_can_be_run_as_a_module() -> None:
    command = [sys.executable, "-m", "headrace", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)

    assert run.stdout.strip() == metadata.version("headrace")


def test_neither_the_server_nor_the_terminal_is_loaded_to_know_the_commands() -> None:
    assert {"redis", "rich", "msgspec"}.isdisjoint(loaded("import headrace.cli.main"))


def test_what_is_piped_does_without_rich(valkey_url: str) -> None:
    code = """
from headrace.cli.main import main
sys.argv = ["headrace", "config"]
try:
    main()
except SystemExit:
    pass
"""
    assert "rich" not in loaded(code, HEADRACE_URL=valkey_url, HEADRACE_NAMESPACE="piped")
