"""Fixtures that run the command line against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import pytest

import headrace
from headrace.cli.main import main


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The words of each line. Tests use this only for tables without empty cells."""
        return [line.split() for line in self.out.splitlines()]


class RunCommand(Protocol):
    """A function that runs a command."""

    def __call__(self, *words: str) -> CommandResult: ...


@pytest.fixture
def client(valkey_url: str) -> Iterator[headrace.Client]:
    """Return a client for a new namespace that uses the server's clock."""
    with headrace.connect(valkey_url, namespace=f"cli-{uuid4().hex[:12]}") as found:
        yield found


@pytest.fixture
def mail(client: headrace.Client) -> headrace.Queue:
    return client.queue("mail")


@pytest.fixture
def cli(
    client: headrace.Client,
    valkey_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> RunCommand:
    """Run commands in this process, on the namespace of the client."""
    monkeypatch.setenv("HEADRACE_URL", valkey_url)
    monkeypatch.setenv("HEADRACE_NAMESPACE", client.core.namespace)

    def run(*words: str) -> CommandResult:
        monkeypatch.setattr("sys.argv", ["headrace", *words])
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        result = capsys.readouterr()
        return CommandResult(int(code or 0), result.out, result.err)

    return run


def fail(queue: headrace.Queue, kind: str, message: str, *, times: int = 1) -> None:
    """Pop jobs of a queue and fail them permanently."""
    for lease in queue.pop("ann", count=times):
        lease.fail(kind, message)
