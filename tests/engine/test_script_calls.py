"""Every operation is one call that uses the server's clock and the keys of one shard."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client, Queue
from headrace.engine.script import LIBRARY, operations, source
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import commands
from tests.support.functions import functions_of
from tests.support.jobs import found, pop_one

PLAIN_READS = {"HGETALL", "ZRANGE"}


def live(hr: Client) -> list[Callable[[], object]]:
    """Return calls of most operations on a few jobs."""
    queue = hr.queue("mail")

    def with_lease(action: Callable[[headrace.Lease], object]) -> Callable[[], object]:
        return lambda: action(leases.pop())

    leases: list[headrace.Lease] = []
    return [
        lambda: queue.put(1, id="x"),
        lambda: queue.put_many([2, 3, 4, 5, 6, 7]),
        lambda: queue.put("moved" * 1000, id="x"),
        lambda: leases.extend(queue.pop("w1", count=7)),
        lambda: leases[0].heartbeat(data="new"),
        lambda: leases[0].log("line"),
        lambda: leases[0].progress(0.5),
        with_lease(lambda lease: lease.complete("result")),
        with_lease(lambda lease: lease.complete(next="archive", delay=5)),
        with_lease(lambda lease: lease.fail("flaky", retry_in=1)),
        with_lease(lambda lease: lease.fail("broken")),
        with_lease(lambda lease: hr.fail(lease.id, "by hand")),
        with_lease(lambda lease: lease.release()),
        with_lease(lambda lease: hr.timeout(lease.id)),
        lambda: hr.retry("x"),
        lambda: hr.requeue("x", "other"),
        lambda: hr.prioritise("x", -1),
        lambda: hr.tags.add("x", "vip", "late"),
        lambda: hr.tags.remove("x", "late"),
        lambda: hr.tags.jobs("vip"),
        hr.tags.top,
        lambda: hr.tracking.add("x"),
        hr.tracking.list,
        lambda: hr.tracking.remove("x"),
        lambda: queue.put("one", unique=True),
        lambda: hr.cancel("x"),
        lambda: hr.queue("mail").matching(1),
        lambda: hr.queue("mail").cancel_matching(2),
        lambda: queue.peek(5),
        queue.stats,
        queue.counts,
        lambda: queue.jobs("waiting"),
        lambda: hr.job("x"),
        hr.failures.counts,
        lambda: hr.failures.jobs("broken"),
        lambda: queue.configure(retries=2),
        queue.settings,
        lambda: hr.config.set("lease", 5),
        hr.config.get,
    ]


@proves("Q-01")
def test_every_operation_is_one_call_of_one_function_or_plain_reads(url: str) -> None:
    warm_up, _ = open_with_clock(url)
    with warm_up:
        for step in live(warm_up):
            step()
    client, _ = open_with_clock(url)
    with client:
        for step in live(client):
            with commands(url) as sent:
                step()
            shard = client.core.key(0, "")
            if sent and all(command.split()[0] in PLAIN_READS for command in sent):
                assert all(command.split()[1].startswith(shard) for command in sent)
                continue
            if len(sent) > 1:
                # A page of jobs takes two commands that only read: the ids, then the jobs.
                ids, jobs = (command.split() for command in sent)
                assert ids[0] in {"ZRANGE", "FCALL_RO"}
                assert ids[3 if ids[0] == "FCALL_RO" else 1].startswith(shard)
                assert (jobs[0], jobs[2], jobs[3]) == ("FCALL_RO", "1", shard)
                continue
            [command] = sent
            name, function, keys, first_key = command.split()[:4]
            op = function.removeprefix(f"{client.core.library.name}_")
            word = "FCALL_RO" if source(f"ops/{op}").flags == ("no-writes",) else "FCALL"
            assert (name, keys, first_key) == (word, "1", shard)


@proves("QD-16")
def test_the_library_loads_on_every_server(url: str) -> None:
    with redis.Redis.from_url(url) as server:
        assert server.function_load(LIBRARY.text, replace=True) == LIBRARY.name.encode()


@proves("QD-16")
@pytest.mark.parametrize("operation", operations())
def test_every_operation_loads_on_every_server(url: str, operation: str) -> None:
    script = LIBRARY.operations[operation].script
    with redis.Redis.from_url(url) as server:
        server.function_load(LIBRARY.text, replace=True)
        assert LIBRARY.operations[operation].name in functions_of(server, LIBRARY.name)
        assert server.script_load(script.text) == script.sha.decode()


@proves("QD-16")
def test_scripts_touch_only_keys_with_the_tag_of_their_shard(url: str) -> None:
    client, clock = open_with_clock(url, shards=3)
    with client, redis.Redis.from_url(url) as server:
        before = set(server.keys())
        for _ in range(4):
            for step in live(client)[:4]:
                step()
            clock.tick(3600)
            client.sweep()
        made = set(server.keys()) - before

    tags = {key.decode().partition("}")[0] for key in made}
    assert tags == {f"hr:{{{client.core.namespace}:{shard}" for shard in range(3)}


@proves("Q-02", "QD-08")
def test_every_timestamp_is_server_time_in_utc(hr: Client, queue: Queue, clock: Clock) -> None:
    assert abs(clock.now - datetime.now(UTC)) > timedelta(hours=1)

    queue.put(1, id="x", delay=5)
    due = found(hr, "x").due
    clock.tick(5)
    lease = pop_one(queue, lease=30)

    job = found(hr, "x")
    assert due == clock.now
    assert (lease.popped_at, job.expires) == (clock.now, clock.now + timedelta(seconds=30))
    assert job.put_at == clock.now - timedelta(seconds=5)
    assert {event.at.tzinfo for event in hr.events()} == {UTC}


@proves("Q-02", "QD-08")
def test_without_a_test_clock_timestamps_are_server_time(url: str) -> None:
    with (
        headrace.connect(url, namespace=f"real-{uuid4()}") as client,
        redis.Redis.from_url(url) as server,
    ):
        first = server_time(server)
        client.queue("mail").put(1, id="x")
        last = server_time(server)

        assert first <= found(client, "x").put_at <= last


def server_time(server: redis.Redis) -> datetime:
    seconds, micros = server.time()
    return datetime.fromtimestamp(seconds, UTC) + timedelta(milliseconds=micros // 1000)
