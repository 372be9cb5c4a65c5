"""Servers that are not there, or let nobody in, and secrets that are nobody's business."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace
from headrace import Client
from headrace.cli import connecting
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.cli.conftest import Type


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "RETRY_FOR", 0.1)


@pytest.mark.parametrize(
    "words", [("queues",), ("put", "mail", "1"), ("job", "a"), ("events", "--follow"), ("audit",)]
)
def test_a_server_that_is_not_there_is_one_line_and_exit_code_1(
    typed: Type, tmp_path: Path, words: tuple[str, ...]
) -> None:
    said = typed(*words, "--url", f"unix://me:s3cret@{tmp_path}/nobody.sock")

    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    assert said.err.startswith("headrace: the server did not answer in time")
    assert "is it running, and is the URL right?" in said.err
    assert "s3cret" not in said.err


def test_a_wrong_password_is_one_line_and_shows_none(
    typed: Type, client: Client, valkey_url: str
) -> None:
    client.core.transport.send(
        [(0, ("ACL", "SETUSER", "operator", "on", ">r1ght", "~*", "&*", "+@all"))]
    )
    place = valkey_url.removeprefix("unix://")

    assert typed("queues", "--url", f"unix://operator:r1ght@{place}").code == 0
    said = typed("queues", "--url", f"unix://operator:wr0ng@{place}")

    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    assert "check the user and the password" in said.err
    assert "wr0ng" not in said.err


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
    ],
)
def test_a_url_that_cannot_be_read_is_exit_code_2_and_shows_no_part_of_the_password(
    typed: Type, url: str
) -> None:
    said = typed("queues", "--url", url)

    assert (said.code, said.out) == (2, "")
    assert "s3c" not in said.err
    assert "ret" not in said.err
    assert len(said.err.splitlines()) == 1


def test_a_url_without_secrets_is_told_what_is_wrong_with_it(typed: Type) -> None:
    said = typed("queues", "--url", "ftp://host")

    assert said.code == 2
    assert "this one begins with 'ftp'" in said.err


def test_an_unknown_option_of_a_sentinel_url_is_one_line_and_exit_code_2(typed: Type) -> None:
    said = typed("queues", "--url", "redis+sentinel://localhost:1/main?nonsense=1")

    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "nonsense" in said.err


@pytest.mark.parametrize(
    "words",
    [
        *("queues", "peek mail", "jobs mail", "job a", "why a", "result a", "failures", "workers"),
        *("schedules", "tags", "stats mail", "events", "audit", "metrics --port 0", "top"),
        *("retry a", "cancel a", "pause mail", "resume mail", "release a", "timeout a"),
        *("sweep", "configure mail", "config", "config --unset retries"),
    ],
)
def test_who_only_looks_makes_no_namespace(typed: Type, client: Client, words: str) -> None:
    space = f"{client.core.namespace}-none"

    said = typed(*words.split(), "-n", space)

    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert f"there is no namespace {space!r}" in said.err
    assert not client.core.transport.send([(0, ("EXISTS", f"hr:{{{space}:0}}:meta"))])[0]


@pytest.mark.parametrize("words", ["put mail 1", "configure mail lease=5m", "config retries=3"])
def test_who_puts_or_configures_makes_the_namespace(
    typed: Type, client: Client, words: str
) -> None:
    space = f"{client.core.namespace}-new"

    assert typed(*words.split(), "-n", space).code == 0
    assert client.core.transport.send([(0, ("EXISTS", f"hr:{{{space}:0}}:meta"))]) == [1]


def test_who_only_looks_starts_no_server(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_directory() as path:
        monkeypatch.chdir(path)

        said = typed("queues", "--url", "")

        assert (said.code, said.out) == (1, "")
        assert "no server has been used in this directory" in said.err
        assert not Path(".headrace").exists()


def test_a_wrong_namespace_is_exit_code_2(typed: Type) -> None:
    assert typed("queues", "-n", "a{b").code == 2


def test_without_a_url_it_is_the_embedded_server_of_the_directory(
    typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch_directory() as here:
        monkeypatch.chdir(here)
        monkeypatch.setenv("HEADRACE_URL", "")
        monkeypatch.delenv("HEADRACE_NAMESPACE")
        try:
            typed("put", "mail", "1", "--id", "a")
            with headrace.connect() as found:
                assert found.job("a") is not None
        finally:
            embedded.stop()


def test_the_options_go_before_the_environment(typed: Type, client: Client) -> None:
    typed("put", "mail", "1", "-n", f"{client.core.namespace}-other")

    assert client.queues() == {}
    told = typed("queues", "--namespace", f"{client.core.namespace}-other", "--json").json
    assert told["queues"]["mail"]["waiting"] == 1


def test_what_an_encrypting_codec_wrote_is_shown_as_bytes(
    typed: Type, client: Client, valkey_url: str
) -> None:
    pytest.importorskip("cryptography")
    codec = headrace.Encrypted({"2026": headrace.Encrypted.new_key()})
    with headrace.connect(valkey_url, namespace=client.core.namespace, codec=codec) as secret:
        secret.queue("mail").put({"to": "ada"}, id="ada")

    said = typed("job", "ada")

    assert said.code == 0
    assert "\\x" in said.out
    assert "to" not in typed("peek", "mail", "--json").json["jobs"][0]["payload"]
    assert typed("job", "ada", "--json").json["data"] is None
