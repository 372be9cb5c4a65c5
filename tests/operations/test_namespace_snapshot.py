"""The snapshot of a namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client
from headrace.operations.namespace_snapshot import (
    QUEUES,
    NamespaceSnapshot,
    ServerInfo,
    snapshot,
)
from headrace.transport.drive import drive
from tests.cli.support.views import work
from tests.docs.support.pages import ROOT
from tests.docs.support.rights import rights

PAGE = ROOT / "docs" / "guides" / "top.md"


@pytest.fixture
def name() -> str:
    return f"top-{uuid4().hex[:8]}"


@pytest.fixture(params=[1, 3])
def client(valkey_url: str, name: str, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Return a client for a new namespace that uses the server's clock."""
    with headrace.connect(valkey_url, namespace=name, shards=request.param) as found:
        yield found


def take(client: Client, *, seen: list[str], offset: int = 0) -> NamespaceSnapshot:
    core = client.core
    return drive(core.transport, snapshot(core, offset=offset, detailed=seen))


def test_snapshot_has_queues_workers_failures_and_server(client: Client) -> None:
    work(client, 10)
    client.queue("empty").configure(retries=1)
    client.queue("empty").pause()

    found = take(client, seen=["mail"])

    mail = found.queues["mail"]
    assert mail.counts == client.queue("mail").counts()
    assert (mail.books["put"], mail.books["complete"]) == (10, 2)
    assert mail.today
    assert (mail.today.failures, mail.today.retries) == (1, 0)
    assert (mail.today.wait.count, mail.today.run.count) == (5, 2)
    assert sum(mail.today.wait.bins.values()) == 5
    assert sum(mail.today.run.bins.values()) == 2
    assert mail.front
    assert abs(found.at - mail.front) < 60_000
    empty = found.queues["empty"]
    assert (empty.counts, empty.today, empty.front) == (client.queue("empty").counts(), None, None)
    assert not any(empty.books.values())
    assert found.queues["empty"].counts.paused
    [ann] = found.workers
    assert (ann.name, ann.queues, ann.jobs, found.sessions) == ("ann", ["mail"], 2, 1)
    [smtp] = found.failures
    assert (smtp.type, smtp.count) == ("smtp", 1)
    assert smtp.newest
    assert found.queue_count == 2
    assert sum(log.length for log in found.logs) == len(list(client.events()))
    assert found.server.nodes == 1
    assert found.server.clients > 0


def test_snapshot_of_an_empty_namespace(client: Client) -> None:
    found = take(client, seen=["mail"])

    assert (found.queues, found.workers, found.failures) == ({}, [], [])


def commands_of(client: Client, url: str, seen: list[str]) -> int:
    with redis.Redis.from_url(url) as direct:
        take(client, seen=seen)  # loads the scripts
        before = direct.info("stats")["total_commands_processed"]
        take(client, seen=seen)
        after = direct.info("stats")["total_commands_processed"]
    # The server also counts this INFO, and the commands that scripts call.
    return int(after - before - 1)


def test_number_of_commands_does_not_depend_on_the_number_of_jobs(
    client: Client, valkey_url: str
) -> None:
    work(client, 60)
    few = commands_of(client, valkey_url, ["mail"])
    client.queue("mail").put_many(range(5000))

    many = commands_of(client, valkey_url, ["mail"])

    assert few == many


def test_queues_are_paged_and_commands_stay_within_the_documented_number(
    valkey_url: str, name: str
) -> None:
    with headrace.connect(valkey_url, namespace=name) as hr:
        for number in range(QUEUES + 5):
            hr.queue(f"queue-{number:03}").configure(retries=1)
        first, second = take(hr, seen=[]), take(hr, seen=[], offset=QUEUES)
        taken = commands_of(hr, valkey_url, ["queue-000"])

    assert (len(first.queues), first.queue_count) == (QUEUES, QUEUES + 5)
    assert (len(second.queues), second.queue_count) == (5, QUEUES + 5)
    result = [int(number) for number in re.findall(r"\*\*(\d+)\*\*", PAGE.read_text())]
    fixed, a_queue, seen_more = result
    assert fixed + QUEUES * a_queue - 10 < taken <= fixed + QUEUES * a_queue + seen_more


def test_documented_rights_are_sufficient(valkey_url: str) -> None:
    with (
        redis.Redis.from_url(valkey_url) as direct,
        headrace.connect(valkey_url, namespace="shop") as hr,
    ):
        work(hr, 10)
        direct.execute_command("ACL", "SETUSER", "observer", "on", ">password", *rights("observer"))
        address = valkey_url.replace("unix://", "unix://observer:password@")
        with headrace.connect(address, namespace="shop") as allowed:
            found = take(allowed, seen=["mail"])
        direct.execute_command("ACL", "SETUSER", "observer", "-info")
        with headrace.connect(address, namespace="shop") as allowed:
            blind = take(allowed, seen=["mail"])

    assert found.queues.keys() == {"mail"}
    assert found.server.version
    assert blind.queues.keys() == {"mail"}
    assert blind.server == ServerInfo()
