"""What the command line says of itself, and how little it loads to say so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import metadata

import click
import pytest

from headrace.cli.main import LAKE, SECTIONS, CommandEntry, LazyGroup, app
from headrace.cli.main import lake as lake_group
from tests.cli.conftest import Type
from tests.docs.pages import ROOT

TOP_LEVEL = [entry for part in SECTIONS.values() for entry in part if entry.name != "lake"]
OF_LAKE = [entry for part in LAKE.values() for entry in part]
NAMES = [entry.name for entry in TOP_LEVEL]
LAKE_NAMES = [f"lake {entry.name}" for entry in OF_LAKE]
COMMANDS = [(app, entry) for entry in TOP_LEVEL] + [(lake_group, entry) for entry in OF_LAKE]


def command_of(group: LazyGroup, entry: CommandEntry) -> click.Command:
    command = group.get_command(click.Context(group), entry.name)
    assert command is not None
    return command


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


def test_help_lists_the_commands_by_section(typed: Type) -> None:
    said = typed("--help")

    sections = re.findall(r"^([A-Z]\w+):$", said.out, re.MULTILINE)
    assert sections == ["Options", "Inspect", "Operate", "Run", "Server", "History"]
    for name in (*NAMES, "lake"):
        assert re.search(rf"^  {name} +[A-Z]", said.out, re.MULTILINE), name


@pytest.mark.parametrize("name", NAMES + LAKE_NAMES)
def test_every_command_has_help_with_an_example_and_json(
    typed: Type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    said = typed(*name.split(), "--help")

    assert said.code == 0
    assert f"Example: headrace {name}" in said.out.replace("\n  ", " ")
    assert "--json" in said.out


@pytest.mark.parametrize(("group", "entry"), COMMANDS, ids=NAMES + LAKE_NAMES)
def test_summary_in_the_table_is_the_first_line_of_the_help(
    group: LazyGroup, entry: CommandEntry
) -> None:
    help_text = command_of(group, entry).help or ""

    assert " ".join(help_text.partition("\n\n")[0].split()) == entry.summary


@pytest.mark.parametrize(("group", "entry"), COMMANDS, ids=NAMES + LAKE_NAMES)
def test_every_example_can_be_typed(group: LazyGroup, entry: CommandEntry) -> None:
    words = shlex.split(entry.example)
    words = words[words.index(entry.name) + 1 :]

    with click.Context(group) as parent:
        command_of(group, entry).make_context(entry.name, words, parent)


def test_every_argument_and_option_has_help() -> None:
    for group, entry in COMMANDS:
        for param in command_of(group, entry).params:
            assert getattr(param, "help", None), f"{entry.name}: {param.name}"


def test_the_page_of_the_command_line_names_every_command() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    listed = page.partition("## The commands")[2].partition("\n## ")[0]
    shown = re.findall(r"`([^`]+)`", listed)

    assert set(NAMES) <= {words.split()[0] for words in shown}
    assert set(LAKE_NAMES) <= set(shown)


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
