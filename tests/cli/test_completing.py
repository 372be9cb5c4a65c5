"""Shell completion: what the shell is offered, and that it is never held up."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import completing
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.cli.conftest import Type, fail
from tests.support.servers import listen

Offered = Callable[..., list[str]]


@pytest.fixture
def offered(typed: Type, monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What bash is offered at the end of a line; the machine may be slow."""
    monkeypatch.setattr(completing, "PATIENCE", 20)

    def run(line: str, **env: str) -> list[str]:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_HEADRACE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        said = typed()
        assert (said.code, said.err) == (0, "")
        return said.out.split()

    return run


def test_commands_options_and_states_are_offered(offered: Offered) -> None:
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
def test_a_server_that_cannot_be_asked_offers_nothing_and_no_error(
    offered: Offered, url: str
) -> None:
    assert offered("headrace peek m", HEADRACE_URL=url) == []


def test_a_name_with_spaces_is_offered_as_it_is_typed(offered: Offered, client: Client) -> None:
    client.queue("ma il's").put(1)

    assert " ".join(offered("headrace peek ma")) == "ma\\ il\\'s"


def test_no_sentinel_is_told_a_password(offered: Offered) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sentinel:
        sentinel.setblocking(False)
        port = sentinel.getsockname()[1]

        url = f"redis+sentinel://ada:secret@127.0.0.1:{port}/main"
        assert offered("headrace peek m", HEADRACE_URL=url) == []

        with pytest.raises(BlockingIOError):
            sentinel.accept()


def test_a_server_that_never_answers_does_not_hold_up_the_shell(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completing, "PATIENCE", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        assert offered("headrace peek m", HEADRACE_URL=f"redis://127.0.0.1:{port}") == []


def test_no_server_is_started_for_it(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)

        assert offered("headrace peek m", HEADRACE_URL="") == []
        assert not Path(".headrace").exists()


def test_the_embedded_server_of_the_directory_is_asked(
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


def test_a_login_and_a_database_are_used(
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


def test_a_server_on_the_network_is_asked(offered: Offered) -> None:
    with ExitStack() as servers:
        port = listen(servers, None)
        with headrace.connect(f"redis://127.0.0.1:{port}", namespace="shell") as found:
            found.queue("mail").put(1)
        where = {"HEADRACE_URL": f"redis://127.0.0.1:{port}/0", "HEADRACE_NAMESPACE": "shell"}

        assert offered("headrace peek m", **where) == ["mail"]


def test_the_shell_is_taught(typed: Type) -> None:
    said = typed("--show-completion", "bash")

    assert said.code == 0
    assert "_HEADRACE_COMPLETE=complete_bash" in said.out
