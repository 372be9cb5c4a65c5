"""The command audit."""

from __future__ import annotations

from headrace import Client, Queue
from tests.cli.conftest import RunCommand


def test_audit_reports_balanced_books(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([1, 2])

    result = cli("audit")

    assert (result.code, result.out) == (0, "checked 2 jobs in 1 queue: the books balance\n")
    assert cli("audit", "--json").json == {
        "balanced": True, "queues": 1, "jobs": 2, "problems": [],
    }  # fmt: skip


def test_audit_names_the_problem_and_exits_with_1(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.put(1, id="lost-one")
    core = client.core
    core.transport.send([(0, ("DEL", core.key(0, "waiting:mail")))])

    result = cli("audit")

    assert (result.code, result.out) == (1, "")
    assert "the books do not balance" in result.err
    assert "lost-one" in result.err
    assert len(result.err.splitlines()) == 1
    output = cli("audit", "--json")
    assert (output.code, output.json["balanced"]) == (1, False)
    assert "lost-one" in output.json["problems"][0]
