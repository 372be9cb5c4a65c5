"""Completion in real shells, with names of queues that a shell could evaluate."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace import Client
from headrace.engine import keys
from headrace.engine.shard import prefix
from tests.cli.conftest import RunCommand
from tests.cli.support.terminal import Terminal, program_on_a_terminal

READY = "ready>"
# The keys print the command line between << and >> and clear the line.
SHOW = "\x18\x18"

BASH = """
source {scripts}/bash
PS1='ready>'
show() {{ printf '<<%s>>\\n' "$READLINE_LINE"; READLINE_LINE=; }}
bind -x '"\\C-x\\C-x": show'
"""
ZSH = """
autoload -Uz compinit; compinit -u
source {scripts}/zsh
PS1='ready>'
show() {{ print -r -- "<<$BUFFER>>"; BUFFER= }}
zle -N show
bindkey '^X^X' show
"""
FISH = """
source {scripts}/fish
function fish_prompt; echo -n 'ready>'; end
function show; printf '<<%s>>\\n' (commandline); commandline ''; end
bind \\cx\\cx show
"""


@dataclass(frozen=True)
class Shell:
    """How to start an interactive shell with a start-up file."""

    startup: str
    file: str
    command: tuple[str, ...]


SHELLS = {
    "bash": Shell(BASH, ".bashrc", ("bash", "--noprofile", "-i")),
    "zsh": Shell(ZSH, ".zshrc", ("zsh", "-i")),
    "fish": Shell(FISH, ".config/fish/config.fish", ("fish", "-i")),
}

PROGRAM = """#!/bin/sh
if [ -z "$_HEADRACE_COMPLETE" ]; then shift; printf '%s\\n' "$@"; exit; fi
exec {python} -c '
from headrace.cli import shell_completion
shell_completion.TIMEOUT = 20
from headrace.cli.main import main
main()'
"""

# Each name begins with two letters that no other name has. Evaluating a name creates a file.
UNSAFE = (
    "da$(touch evaluated)",
    "db`touch$IFS''evaluated`",
    "dc\\`touch$IFS''evaluated\\`",
    "dd'$(touch evaluated)'",
    "de\ntouch evaluated",
)
SAFE = (
    "sa il's",
    "sb:with:colons",
    "sc;touch evaluated&",
    "sd(touch evaluated)|",
    'se"{a}*?[c]',
)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.fixture
def env(
    cli: RunCommand, client: Client, valkey_url: str, tmp_path: Path, shell: str
) -> dict[str, str]:
    """Return the environment of a shell with completion, and put the names on the server."""
    for name in SAFE:
        client.queue(name).put(1)
    # The client refuses some of these names, but other programs can write them.
    scores = [word for name in UNSAFE for word in ("0", name)]
    client.core.transport.send(
        [(0, ("ZADD", prefix(client.core.namespace, 0) + keys.QUEUES, *scores))]
    )
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / shell).write_text(cli("--show-completion", shell).out)
    startup = tmp_path / SHELLS[shell].file
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text(SHELLS[shell].startup.format(scripts=tmp_path / "scripts"))
    program = tmp_path / "bin" / "headrace"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    return {
        "HEADRACE_URL": valkey_url,
        "HEADRACE_NAMESPACE": client.core.namespace,
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }


@contextmanager
def interactive(shell: str, cwd: Path, env: dict[str, str]) -> Iterator[Terminal]:
    with program_on_a_terminal(*SHELLS[shell].command, cwd=cwd, env=env) as found:
        found.until(READY)
        yield found


def completed(terminal: Terminal, line: str) -> str:
    """Type a line, press Tab, and return the command line."""
    terminal.press(f"{line}\t{SHOW}")
    return terminal.until(">>").partition("<<")[2].partition(">>")[0]


def test_names_that_a_shell_could_evaluate_are_not_offered(
    shell: str, env: dict[str, str], tmp_path: Path
) -> None:
    with interactive(shell, tmp_path, env) as terminal:
        for name, mark in zip(UNSAFE, ("", '"', "", "'", ""), strict=True):
            line = f"headrace peek {mark}{name[:2]}"

            assert completed(terminal, line) == line

    assert not (tmp_path / "evaluated").exists()


def test_names_with_special_characters_become_one_argument(
    shell: str, env: dict[str, str], tmp_path: Path
) -> None:
    with interactive(shell, tmp_path, env) as terminal:
        for name in SAFE:
            line = completed(terminal, f"headrace peek {name[:2]}")
            run = subprocess.run(
                [shell, "-c", line],
                capture_output=True,
                text=True,
                check=True,
                cwd=tmp_path,
                env=env,
            )

            assert run.stdout == f"{name}\n"

    assert not (tmp_path / "evaluated").exists()
