"""The addresses and repairs in docs/guides/operations.md are correct."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import redis

import headrace
from headrace import Client
from headrace.client.connect import ConnectOptions
from headrace.engine.record import name_in
from headrace.operations.queues import DELETE_AT_MOST
from tests.conftest import KINDS
from tests.docs.support.rights import NAMESPACE, PAGE
from tests.support import servers


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A private server, because other tests would see its users and this namespace."""
    with getattr(servers, request.param)() as found:
        yield found


def test_addresses_on_the_page_are_accepted() -> None:
    addresses = re.findall(r"^\| `(\w[\w+]+://[^`]+)`", PAGE.read_text(), re.MULTILINE)
    assert len(addresses) == 5
    for address in addresses:
        full = address.replace("...", "one:26379/service")
        assert ConnectOptions(full, "n").url == full


@pytest.fixture
def broken(url: str) -> Iterator[tuple[Client, redis.Redis]]:
    """A client, and a direct connection to damage its data."""
    with (
        headrace.connect(url, namespace=NAMESPACE) as client,
        redis.Redis.from_url(url) as server,
    ):
        client.queue("mail").put_many(["x", "y"])
        client.queue("mail").put("z", id="a")
        yield client, server


WAITING = f"hr:{{{NAMESPACE}:0}}:waiting:mail"
BOOKS = f"hr:{{{NAMESPACE}:0}}:books:mail"


def entry_of_a(server: redis.Redis) -> bytes:
    found: list[bytes] = server.execute_command("ZRANGE", WAITING, 0, -1)
    [entry] = [name for name in found if name_in(name) == "a"]
    return entry


@pytest.mark.parametrize("remedy", ["requeue", "cancel"])
def test_job_missing_from_its_set_can_be_repaired(
    broken: tuple[Client, redis.Redis], remedy: str
) -> None:
    hr, server = broken
    server.zrem(WAITING, entry_of_a(server))
    assert "job 'a' is recorded as waiting in mail but not listed there" in hr.audit().problems

    getattr(hr, remedy)("a")

    assert hr.audit().problems == []


def test_pop_skips_a_job_without_a_record_and_its_counter_can_be_corrected(
    broken: tuple[Client, redis.Redis],
) -> None:
    hr, server = broken
    server.delete(f"hr:{{{NAMESPACE}:0}}:job:a")
    assert hr.audit().problems == ["job 'a' is listed as waiting but has no record"]

    assert [lease.data for lease in hr.queue("mail").pop("w", count=3)] == ["x", "y"]

    server.hincrby(BOOKS, "waiting", -1)
    server.hincrby(BOOKS, "cancelled", 1)
    assert hr.audit().problems == ["job 'a' is gone, but its newest event is 'put'"]
    hr.queue("mail").put("again", id="a")
    hr.cancel("a")
    assert hr.audit().problems == []


def test_page_states_how_many_jobs_one_step_deletes() -> None:
    assert f"Up to {DELETE_AT_MOST} jobs" in PAGE.read_text()
