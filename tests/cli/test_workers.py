"""The commands workers, release, timeout and sweep."""

from __future__ import annotations

import headrace
from headrace import Client, Queue
from tests.cli.conftest import RunCommand
from tests.support.interrupted_write import was_long_ago, write_and_die


def states(client: Client, *ids: str) -> list[str]:
    return [job.state for job in client.jobs(ids)]


def test_workers_are_listed_with_what_they_serve_and_hold(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    assert cli("workers").out == "no worker has a session\n"
    session = client.session("ann", ttl=None)
    session.serve("mail")
    mail.put(1)
    mail.pop("ann")

    result = cli("workers")

    assert result.rows[1][:3] == ["ann", "1", "mail"]
    assert "never" in result.out
    [worker] = cli("workers", "--json").json["workers"]
    assert (worker["name"], worker["jobs"], worker["queues"]) == ("ann", 1, ["mail"])


def test_release_returns_a_running_job(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    mail.pop("ann")

    assert cli("release", "job-0", "--back").out == "job-0 is waiting\n"
    assert [job.id for job in mail.peek(2)] == ["job-1", "job-0"]
    mail.pop("ann")
    output = cli("release", "job-1", "--delay", "5m", "--json").json
    assert output == {"id": "job-1", "state": "scheduled"}
    mail.pop("ann")
    cli("release", "job-0")
    refused = cli("release", "job-0")
    assert (refused.code, refused.out) == (1, "")


def test_timeout_expires_leases(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    mail.pop("ann")

    result = cli("timeout", "job-0", "job-1")

    assert (result.code, result.out) == (1, "1 job taken back\n")
    assert "job 'job-1' is waiting" in result.err
    assert mail.counts().waiting == 2


def test_sweep_lists_the_writes_it_finished(cli: RunCommand, client: Client) -> None:
    assert cli("sweep", "--json").json == {"finished": []}
    assert cli("sweep").out == "swept; finished 0 writes from Spark\n"
    write_and_die(client, [("a", b"1"), ("b", b"2")])
    was_long_ago(client)

    result = cli("sweep")

    assert (result.code, result.out) == (
        0,
        "swept; finished 1 write from Spark\nw: 2 rows into mail\n",
    )
    assert states(client, "a", "b") == ["waiting", "waiting"]


def test_sweep_reports_lost_rows_of_a_write(cli: RunCommand, client: Client) -> None:
    write_and_die(client, [("a", b"1"), ("b", b"2")])
    was_long_ago(client)
    client.core.transport.send([(0, ("DEL", client.core.key(0, "staged:attempt")))])

    [output] = cli("sweep", "--json").json["finished"]

    assert (output["id"], output["queue"], output["rows"], output["made"]) == ("w", "mail", 2, 0)
    assert output["lost"] == {"0": 2}
