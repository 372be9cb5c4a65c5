"""Shell completion: what the shell is offered, and that it is never held up."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import shell_completion
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.cli.conftest import RunCommand, fail
from tests.servers import listen

Offered = Callable[..., list[str]]


@pytest.fixture
def offered(cli: RunCommand, monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What bash is offered at the end of a line; the machine may be slow."""
    monkeypatch.setattr(shell_completion, "TIMEOUT", 20)

    def run(line: str, **env: str) -> list[str]:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_HEADRACE_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        result = cli()
        assert (result.code, result.err) == (0, "")
        return [line.partition(",")[2] for line in result.out.splitlines() if line]

    return run


def test_commands_options_and_states_are_completed(offered: Offered) -> None:
    assert offered("headrace re") == ["result", "retry", "resume", "release"]
    assert offered("headrace jobs mail --st") == ["--state"]
    assert offered("headrace jobs mail --state f") == ["failed"]


def test_names_of_queues_and_failures_come_from_the_server(
    offered: Offered, client: Client, mail: Queue, valkey_url: str
) -> None:
    mail.put_many([1, 2])
    client.queue("marmalade").put(1)
    client.queue("reports").put(1)
    fail(mail, "smtp", "")

    assert offered("headrace peek ma") == ["mail", "marmalade"]
    assert offered("headrace pause mail rep") == ["reports"]
    assert offered("headrace cancel --queue r") == ["reports"]
    assert offered("headrace retry --failure s") == ["smtp"]
    other = f"{client.core.namespace}-none"
    assert offered(f"headrace peek -n {other} m") == []
    assert not client.core.transport.send([(0, ("EXISTS", f"hr:{{{other}:0}}:meta"))])[0]
    nowhere = "redis://localhost:1"
    assert offered(f"headrace peek --url {valkey_url} mar", HEADRACE_URL=nowhere) == ["marmalade"]


@pytest.mark.parametrize("url", ["redis://localhost:1", "nonsense", "redis+sentinel://a:1/b"])
def test_unusable_server_completes_nothing_without_an_error(offered: Offered, url: str) -> None:
    assert offered("headrace peek m", HEADRACE_URL=url) == []


def test_name_with_spaces_is_escaped_for_bash(offered: Offered, client: Client) -> None:
    client.queue("ma il's").put(1)

    assert offered("headrace peek ma") == ["ma\\\\ il\\\\'s"]


def test_sentinels_do_not_receive_the_password(offered: Offered) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sentinel:
        sentinel.setblocking(False)
        port = sentinel.getsockname()[1]

        url = f"redis+sentinel://ada:secret@127.0.0.1:{port}/main"
        assert offered("headrace peek m", HEADRACE_URL=url) == []

        with pytest.raises(BlockingIOError):
            sentinel.accept()


def test_silent_server_does_not_block_the_shell(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_completion, "TIMEOUT", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        assert offered("headrace peek m", HEADRACE_URL=f"redis://127.0.0.1:{port}") == []


def test_completion_starts_no_server(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)

        assert offered("headrace peek m", HEADRACE_URL="") == []
        assert not Path(".headrace").exists()


def test_names_come_from_the_embedded_server_of_the_directory(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)
        try:
            with headrace.connect() as found:
                found.queue("mail").put(1)

            assert offered("headrace peek m", HEADRACE_URL="", HEADRACE_NAMESPACE="") == ["mail"]
        finally:
            embedded.stop()


def test_completion_uses_login_and_database_of_the_url(
    offered: Offered, client: Client, mail: Queue, valkey_url: str
) -> None:
    mail.put(1)
    client.core.transport.send(
        [(0, ("ACL", "SETUSER", "shell", "on", ">p@ss", "~*", "&*", "+@all"))]
    )
    place = valkey_url.removeprefix("unix://")

    assert offered("headrace peek m", HEADRACE_URL=f"unix://shell:p%40ss@{place}") == ["mail"]
    assert offered("headrace peek m", HEADRACE_URL=f"unix://shell:wrong@{place}") == []
    assert offered("headrace peek m", HEADRACE_URL=f"{valkey_url}?db=0") == ["mail"]
    assert offered("headrace peek m", HEADRACE_URL=f"{valkey_url}?db=1") == []


def test_names_come_from_a_server_on_the_network(offered: Offered) -> None:
    with ExitStack() as servers:
        port = listen(servers, None)
        with headrace.connect(f"redis://127.0.0.1:{port}", namespace="shell") as found:
            found.queue("mail").put(1)
        where = {"HEADRACE_URL": f"redis://127.0.0.1:{port}/0", "HEADRACE_NAMESPACE": "shell"}

        assert offered("headrace peek m", **where) == ["mail"]


def test_show_completion_prints_the_script(cli: RunCommand) -> None:
    result = cli("--show-completion", "bash")

    assert result.code == 0
    assert "_HEADRACE_COMPLETE=bash_complete" in result.out
