"""Commands that read work on a server that refuses writes, and all drain a full server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace import Client, Queue
from headrace.local_server.scratch import private_server
from tests.cli.conftest import RunCommand
from tests.cli.test_acl import CHANGING, READING, busy, without_times
from tests.support.refusals import BINARIES, FULL, REFUSALS, Refusal, refusing

__all__ = ["busy"]


@pytest.fixture(scope="module", params=BINARIES)
def valkey_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server of this module, which refuses calls while a test says so."""
    with private_server(binary=BINARIES[request.param]) as url:
        yield url


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("refusal", [*REFUSALS, FULL], ids=str)
def test_commands_that_read_show_the_same(
    cli: RunCommand, valkey_url: str, refusal: Refusal
) -> None:
    expected = {command: cli(*command.split(), "--json") for command in READING}
    with refusing(valkey_url, refusal):
        for command in READING:
            found = cli(*command.split(), "--json")
            assert (command, found.code, found.err) == (command, 0, "")
            assert without_times(found.out) == without_times(expected[command].out)
        assert cli("doctor", "--json").json["checks"]


@pytest.mark.parametrize("command", CHANGING)
def test_commands_that_free_memory_work_on_a_full_server(
    cli: RunCommand, client: Client, busy: Queue, valkey_url: str, command: str
) -> None:
    with refusing(valkey_url, FULL):
        found = cli(*command.split())
        assert (found.code, found.err) == (0, "")
        assert client.audit().problems == []
    busy.delete()
