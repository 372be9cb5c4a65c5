"""The options that print or install the shell completion script."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import get_completion_class

VARIABLE = "_HEADRACE_COMPLETE"


@dataclass(frozen=True, slots=True)
class ShellFiles:
    """The path of a shell's completion script, and the startup line that loads the script."""

    script: str
    startup: str = ""
    line: str = ""


SHELLS = {
    "bash": ShellFiles(
        "~/.bash_completions/headrace.sh", "~/.bashrc", "source ~/.bash_completions/headrace.sh"
    ),
    "zsh": ShellFiles(
        "~/.zfunc/_headrace", "~/.zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"
    ),
    "fish": ShellFiles("~/.config/fish/completions/headrace.fish"),
}
CURRENT = "current"


def _script_for(ctx: click.Context, shell: str) -> str:
    completion = get_completion_class(shell)
    if shell not in SHELLS or completion is None:
        raise click.BadParameter(f"unknown shell {shell!r}; choose from {', '.join(SHELLS)}")
    return completion(ctx.command, {}, "headrace", VARIABLE).source()


def _shell(value: str) -> str:
    return Path(os.environ.get("SHELL", "")).name if value == CURRENT else value


def _show(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        click.echo(_script_for(ctx, _shell(value)))
        ctx.exit()


def _install(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    shell = _shell(value)
    text = _script_for(ctx, shell)
    files = SHELLS[shell]
    script = Path(files.script).expanduser()
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(text)
    if files.startup:
        startup = Path(files.startup).expanduser()
        present = startup.read_text() if startup.exists() else ""
        if files.line not in present.splitlines():
            with startup.open("a") as file:
                file.write(f"\n{files.line}\n")
    click.echo(f"{shell} completion installed in {script}; restart the shell to use it")
    ctx.exit()


def _option(name: str, callback: Callable[..., None], about: str) -> click.Option:
    return click.Option(
        [name],
        is_flag=False,
        flag_value=CURRENT,
        is_eager=True,
        expose_value=False,
        callback=callback,
        metavar="[SHELL]",
        help=about,
    )


install_completion = _option(
    "--install-completion",
    _install,
    "Install completion for bash, zsh or fish; default: the current shell.",
)
show_completion = _option(
    "--show-completion", _show, "Print the completion script instead of installing it."
)
