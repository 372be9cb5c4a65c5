"""Help, the table of commands, and the modules that start-up loads."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import metadata

import click
import pytest

from headrace.cli.main import LazyGroup, app
from headrace.cli.main import lake as lake_group
from tests.cli.conftest import RunCommand
from tests.docs.support.pages import ROOT

NAMES = [name for name in app.entries if name != "lake"]
LAKE_NAMES = [f"lake {name}" for name in lake_group.entries]
COMMANDS = [(app, name) for name in NAMES] + [(lake_group, name) for name in lake_group.entries]


def command_of(group: LazyGroup, name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def loaded(code: str, **env: str) -> set[str]:
    """Run code in a new interpreter and return the packages it has loaded."""
    output = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('loaded', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    return {name.partition(".")[0] for name in output.stdout.rpartition("loaded")[2].split()}


def test_help_lists_the_commands_by_section(cli: RunCommand) -> None:
    result = cli("--help")

    sections = re.findall(r"^([A-Z]\w+):$", result.out, re.MULTILINE)
    assert sections == ["Options", "Inspect", "Operate", "Run", "Server", "History"]
    for name in (*NAMES, "lake"):
        assert re.search(rf"^  {name} +[A-Z]", result.out, re.MULTILINE), name


@pytest.mark.parametrize("name", NAMES + LAKE_NAMES)
def test_every_command_has_help_with_an_example_and_json(
    cli: RunCommand, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    result = cli(*name.split(), "--help")

    assert result.code == 0
    assert f"Example: headrace {name}" in result.out.replace("\n  ", " ")
    assert "--json" in result.out


@pytest.mark.parametrize(("group", "name"), COMMANDS, ids=NAMES + LAKE_NAMES)
def test_summary_in_the_table_is_the_first_line_of_the_help(group: LazyGroup, name: str) -> None:
    help_text = command_of(group, name).help or ""

    assert " ".join(help_text.partition("\n\n")[0].split()) == group.entries[name][1]


@pytest.mark.parametrize(("group", "name"), COMMANDS, ids=NAMES + LAKE_NAMES)
def test_every_example_can_be_typed(group: LazyGroup, name: str) -> None:
    command = command_of(group, name)
    words = shlex.split((command.epilog or "").removeprefix("Example: "))
    words = words[words.index(name) + 1 :]

    with click.Context(group) as parent:
        command.make_context(name, words, parent)


def test_every_argument_and_option_has_help() -> None:
    for group, name in COMMANDS:
        for param in command_of(group, name).params:
            assert getattr(param, "help", None), f"{name}: {param.name}"


def test_docs_name_every_command() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    listed = page.partition("## Commands")[2].partition("\n## ")[0]
    shown = re.findall(r"`([^`]+)`", listed)

    assert set(NAMES) <= {words.split()[0] for words in shown}
    assert set(LAKE_NAMES) <= set(shown)


def test_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "headrace", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)

    assert run.stdout.strip() == metadata.version("headrace")


def test_main_loads_neither_redis_rich_nor_msgspec() -> None:
    assert {"redis", "rich", "msgspec"}.isdisjoint(loaded("import headrace.cli.main"))


def test_piped_output_does_not_load_rich(valkey_url: str) -> None:
    code = """
from headrace.cli.main import main
sys.argv = ["headrace", "config"]
try:
    main()
except SystemExit:
    pass
"""
    assert "rich" not in loaded(code, HEADRACE_URL=valkey_url, HEADRACE_NAMESPACE="piped")
