"""Unreachable servers, refused logins, and secrets that errors must not show."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace
from headrace import Client
from headrace.cli import connecting
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.cli.conftest import RunCommand


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "RETRY_FOR", 0.1)


@pytest.mark.parametrize(
    "words", [("queues",), ("put", "mail", "1"), ("job", "a"), ("events", "--follow"), ("audit",)]
)
def test_unreachable_server_is_a_one_line_error(
    cli: RunCommand, tmp_path: Path, words: tuple[str, ...]
) -> None:
    result = cli(*words, "--url", f"unix://me:s3cret@{tmp_path}/missing.sock")

    assert (result.code, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("headrace: the server did not answer in time")
    assert "is it running, and is the URL right?" in result.err
    assert "s3cret" not in result.err


def test_wrong_password_is_a_one_line_error_without_the_password(
    cli: RunCommand, client: Client, valkey_url: str
) -> None:
    client.core.transport.send(
        [(0, ("ACL", "SETUSER", "operator", "on", ">r1ght", "~*", "&*", "+@all"))]
    )
    place = valkey_url.removeprefix("unix://")

    assert cli("queues", "--url", f"unix://operator:r1ght@{place}").code == 0
    result = cli("queues", "--url", f"unix://operator:wr0ng@{place}")

    assert (result.code, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert "check the user and the password" in result.err
    assert "wr0ng" not in result.err


@pytest.mark.parametrize(
    "url",
    [
        "redis://me:s3c/ret@host:6379",
        "redis://me:s3c#ret@host",
        "redis://:s3cret@host:port",
        "redis+sentinel://me:s3cret@host",
        "s3cret@host",
        "ftp://me:s3cret@host",
        "redis://me:s3[cret@host",
        "redis://host:s3cret",
        "redis://me:7s3cret",
        "redis://me:s3cret@host?socket_timeout=s3cret",
        "rediss://me:s3cret@host?ssl_cert_reqs=s3cret",
        "redis://me:7?s3cret=1@host",
    ],
)
@pytest.mark.parametrize(
    "words", [("queues",), ("doctor",), ("import", "qless"), ("put", "q", "1")]
)
def test_invalid_url_exits_with_2_and_does_not_show_the_password(
    cli: RunCommand, url: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (url,) if words[0] == "import" else ("--url", url)
    results = [cli(*words, *given)]
    if words[0] != "import":
        monkeypatch.setenv("HEADRACE_URL", url)
        results.append(cli(*words))

    for result in results:
        if words[0] != "doctor":
            assert (result.code, result.out) == (2, "")
            assert len(result.err.splitlines()) == 1
        assert "s3c" not in result.out + result.err
        assert "ret" not in result.err


def test_error_of_a_url_without_secrets_names_the_scheme(cli: RunCommand) -> None:
    result = cli("queues", "--url", "ftp://host")

    assert result.code == 2
    assert "not with 'ftp'" in result.err


def test_unknown_option_of_a_sentinel_url_exits_with_2(cli: RunCommand) -> None:
    result = cli("queues", "--url", "redis+sentinel://localhost:1/main?nonsense=1")

    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "nonsense" in result.err


@pytest.mark.parametrize(
    "words",
    [
        *("queues", "peek mail", "jobs mail", "job a", "why a", "result a", "failures", "workers"),
        *("schedules", "tags", "stats mail", "events", "audit", "metrics --port 0", "top"),
        *("retry a", "cancel a", "pause mail", "resume mail", "release a", "timeout a"),
        *("sweep", "configure mail", "config", "config --unset retries"),
    ],
)
def test_reading_commands_create_no_namespace(cli: RunCommand, client: Client, words: str) -> None:
    space = f"{client.core.namespace}-none"

    result = cli(*words.split(), "-n", space)

    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert f"there is no namespace {space!r}" in result.err
    assert not client.core.transport.send([(0, ("EXISTS", f"hr:{{{space}:0}}:meta"))])[0]


@pytest.mark.parametrize("words", ["put mail 1", "configure mail lease=5m", "config retries=3"])
def test_put_and_configure_create_the_namespace(
    cli: RunCommand, client: Client, words: str
) -> None:
    space = f"{client.core.namespace}-new"

    assert cli(*words.split(), "-n", space).code == 0
    assert client.core.transport.send([(0, ("EXISTS", f"hr:{{{space}:0}}:meta"))]) == [1]


def test_reading_commands_start_no_server(cli: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)

        result = cli("queues", "--url", "")

        assert (result.code, result.out) == (1, "")
        assert "this directory has no embedded server" in result.err
        assert not Path(".headrace").exists()


def test_invalid_namespace_exits_with_2(cli: RunCommand) -> None:
    assert cli("queues", "-n", "a{b").code == 2


def test_default_server_is_the_embedded_one_of_the_directory(
    cli: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch_directory() as here:
        monkeypatch.chdir(here)
        monkeypatch.setenv("HEADRACE_URL", "")
        monkeypatch.delenv("HEADRACE_NAMESPACE")
        try:
            cli("put", "mail", "1", "--id", "a")
            with headrace.connect() as found:
                assert found.job("a") is not None
        finally:
            embedded.stop()


def test_options_take_precedence_over_the_environment(cli: RunCommand, client: Client) -> None:
    cli("put", "mail", "1", "-n", f"{client.core.namespace}-other")

    assert client.queues() == {}
    output = cli("queues", "--namespace", f"{client.core.namespace}-other", "--json").json
    assert output["queues"]["mail"]["waiting"] == 1


def test_encrypted_data_is_shown_as_bytes(cli: RunCommand, client: Client, valkey_url: str) -> None:
    pytest.importorskip("cryptography")
    codec = headrace.Encrypted({"2026": headrace.Encrypted.new_key()})
    with headrace.connect(valkey_url, namespace=client.core.namespace, codec=codec) as secret:
        secret.queue("mail").put({"to": "ada"}, id="ada")

    result = cli("job", "ada")

    assert result.code == 0
    assert "\\x" in result.out
    assert "to" not in cli("peek", "mail", "--json").json["jobs"][0]["payload"]
    assert cli("job", "ada", "--json").json["data"] is None
