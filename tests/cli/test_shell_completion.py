"""Shell completion."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import shell_completion
from headrace.engine import keys
from headrace.engine.shard import prefix
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.cli.conftest import RunCommand, fail
from tests.support.servers import listen

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(cli: RunCommand, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Return the completions for the last word of a line, with a long timeout."""
    monkeypatch.setattr(shell_completion, "TIMEOUT", 20)

    def run(line: str, *, shell: str = "bash", **env: str) -> list[str]:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_HEADRACE_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        before, _, word = line.rpartition(" ")
        # Fish passes the incomplete word, other shells the index of the word.
        monkeypatch.setenv("COMP_CWORD", word if shell == "fish" else str(before.count(" ") + 1))
        result = cli()
        assert (result.code, result.err) == (0, "")
        lines = [line for line in result.out.split("\n") if line]
        if shell == "zsh":
            return lines[1::3]
        return [line.partition(",")[2] for line in lines]

    return run


def test_commands_options_and_states_are_completed(complete: Complete) -> None:
    assert complete("headrace re") == ["result", "retry", "resume", "release"]
    assert complete("headrace jobs mail --st") == ["--state"]
    assert complete("headrace jobs mail --state f") == ["failed"]


def test_names_of_queues_and_failures_come_from_the_server(
    complete: Complete, client: Client, mail: Queue, valkey_url: str
) -> None:
    mail.put_many([1, 2])
    client.queue("marmalade").put(1)
    client.queue("reports").put(1)
    fail(mail, "smtp", "")

    assert complete("headrace peek ma") == ["mail", "marmalade"]
    assert complete("headrace pause mail rep") == ["reports"]
    assert complete("headrace cancel --queue r") == ["reports"]
    assert complete("headrace retry --failure s") == ["smtp"]
    other = f"{client.core.namespace}-none"
    assert complete(f"headrace peek -n {other} m") == []
    assert not client.core.transport.send([(0, ("EXISTS", f"hr:{{{other}:0}}:meta"))])[0]
    nowhere = "redis://localhost:1"
    assert complete(f"headrace peek --url {valkey_url} mar", HEADRACE_URL=nowhere) == ["marmalade"]


@pytest.mark.parametrize("url", ["redis://localhost:1", "nonsense", "redis+sentinel://a:1/b"])
def test_unusable_server_completes_nothing_without_an_error(complete: Complete, url: str) -> None:
    assert complete("headrace peek m", HEADRACE_URL=url) == []


def test_name_with_spaces_is_escaped_for_bash(complete: Complete, client: Client) -> None:
    client.queue("ma il's").put(1)

    assert complete("headrace peek ma") == ["ma\\\\ il\\\\'s"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "name",
    [
        "m$(touch X)",
        "m`touch X`",
        r"m\$(touch X)",
        r"m\`touch X\`",
        "m'$(touch X)'",
        'm"$(touch X)"',
        "m${x:=$(touch X)}",
        "m!!",
        "m\\",
        "m\n$(touch X)",
        "m\x1b]0;title\x07",
        "m\u202egnp.exe",
        "--url=redis://example.org",
    ],
)
def test_name_that_a_shell_could_evaluate_is_not_offered(
    complete: Complete, client: Client, name: str, shell: str
) -> None:
    # The client refuses some of these names, but other programs can write them.
    names = prefix(client.core.namespace, 0) + keys.QUEUES
    client.core.transport.send([(0, ("ZADD", names, 0, name, 0, "more"))])

    assert complete("headrace peek ", shell=shell) == ["more"]


def test_sentinels_do_not_receive_the_password(complete: Complete) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sentinel:
        sentinel.setblocking(False)
        port = sentinel.getsockname()[1]

        url = f"redis+sentinel://ada:secret@127.0.0.1:{port}/main"
        assert complete("headrace peek m", HEADRACE_URL=url) == []

        with pytest.raises(BlockingIOError):
            sentinel.accept()


def test_silent_server_does_not_block_the_shell(
    complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_completion, "TIMEOUT", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        assert complete("headrace peek m", HEADRACE_URL=f"redis://127.0.0.1:{port}") == []


def test_completion_starts_no_server(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)

        assert complete("headrace peek m", HEADRACE_URL="") == []
        assert not Path(".headrace").exists()


def test_names_come_from_the_embedded_server_of_the_directory(
    complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)
        try:
            with headrace.connect() as found:
                found.queue("mail").put(1)

            assert complete("headrace peek m", HEADRACE_URL="", HEADRACE_NAMESPACE="") == ["mail"]
        finally:
            embedded.stop()


def test_completion_uses_login_and_database_of_the_url(
    complete: Complete, client: Client, mail: Queue, valkey_url: str
) -> None:
    mail.put(1)
    client.core.transport.send(
        [(0, ("ACL", "SETUSER", "shell", "on", ">p@ss", "~*", "&*", "+@all"))]
    )
    place = valkey_url.removeprefix("unix://")

    assert complete("headrace peek m", HEADRACE_URL=f"unix://shell:p%40ss@{place}") == ["mail"]
    assert complete("headrace peek m", HEADRACE_URL=f"unix://shell:wrong@{place}") == []
    assert complete("headrace peek m", HEADRACE_URL=f"{valkey_url}?db=0") == ["mail"]
    assert complete("headrace peek m", HEADRACE_URL=f"{valkey_url}?db=1") == []


def test_names_come_from_a_server_on_the_network(complete: Complete) -> None:
    with ExitStack() as servers:
        port = listen(servers, None)
        with headrace.connect(f"redis://127.0.0.1:{port}", namespace="shell") as found:
            found.queue("mail").put(1)
        where = {"HEADRACE_URL": f"redis://127.0.0.1:{port}/0", "HEADRACE_NAMESPACE": "shell"}

        assert complete("headrace peek m", **where) == ["mail"]


def test_show_completion_prints_the_script(cli: RunCommand) -> None:
    result = cli("--show-completion", "bash")

    assert result.code == 0
    assert "_HEADRACE_COMPLETE=bash_complete" in result.out


def test_real_bash_completes_names(
    cli: RunCommand, client: Client, valkey_url: str, tmp_path: Path
) -> None:
    client.queue("ma il's").put(1)
    (tmp_path / "headrace.sh").write_text(cli("--show-completion", "bash").out)
    program = tmp_path / "headrace"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m headrace "$@"\n')
    program.chmod(0o755)
    code = f"""
source {tmp_path}/headrace.sh
COMP_WORDS=(headrace peek ma); COMP_CWORD=2
for _ in 1 2 3 4 5 6 7 8 9 10; do
  _headrace_completion {program}
  [ -n "$COMPREPLY" ] && break
done
printf '%s' "${{COMPREPLY[0]}}"
"""
    env = {"HEADRACE_URL": valkey_url, "HEADRACE_NAMESPACE": client.core.namespace}
    run = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True, env=os.environ | env
    )

    assert run.stdout == "ma\\ il\\'s"


def test_install_completion_writes_the_script_and_loads_it_once(
    cli: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")

    results = [cli("--install-completion"), cli("--install-completion", "bash")]

    assert [result.code for result in results] == [0, 0]
    assert "bash_complete" in (tmp_path / ".bash_completions" / "headrace.sh").read_text()
    assert (tmp_path / ".bashrc").read_text() == (
        "alias ll='ls -l'\nsource ~/.bash_completions/headrace.sh\n"
    )
    assert cli("--install-completion", "fish").code == 0
    assert (tmp_path / ".config" / "fish" / "completions" / "headrace.fish").exists()
    assert cli("--install-completion", "tcsh").code == 2
