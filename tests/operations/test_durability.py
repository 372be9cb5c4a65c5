"""`durability=` waits for the append-only file or for replicas; a long wait raises NotDurable."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis

import headrace
from headrace import Client, InvalidArgument, NotDurable, Put, ServerUnavailable
from headrace.engine.script import operations
from headrace.local_server.scratch import private_server
from headrace.testing import open_with_clock
from tests.support.channels import commands
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.proxy import way_to
from tests.support.restartable import Restartable, meanwhile
from tests.support.servers import HOST, cluster, listen, redis_server_path, sentinel, until

AOF = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture(scope="module")
def aof_url() -> Iterator[str]:
    """A server whose append-only file is written with every call."""
    with private_server(*AOF) as url:
        yield url


@pytest.fixture
def slow_disk(aof_url: str) -> Iterator[redis.Redis]:
    """The same server, but its append-only file is never written to disk."""
    with redis.Redis.from_url(aof_url) as admin:
        admin.config_set("appendfsync", "no")
        yield admin
        admin.config_set("appendfsync", "always")


def words(sent: list[str]) -> list[str]:
    return [line.split()[0] for line in sent]


def use_loaded_scripts(hr: Any, url: str) -> None:
    hr.core.use_scripts()
    with redis.Redis.from_url(url) as admin:
        for op in operations():
            admin.script_load(hr.core.library.operations[op].script.text)


def rewrites_log(admin: redis.Redis) -> bool:
    found = admin.info("persistence")
    return bool(found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"])


def waits(admin: redis.Redis, command: str = "waitaof") -> int:
    found = admin.info("commandstats").get(f"cmdstat_{command}", {})
    return int(found.get("calls", 0))


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
@pytest.mark.parametrize("form", ["functions", "script"])
async def test_puts_and_outcomes_wait_on_the_connection_of_the_call(
    client_kind: str, form: str, aof_url: str
) -> None:
    async with opened(client_kind, aof_url, namespace=f"c-{form}", durability="aof") as hr:
        if form == "script":
            use_loaded_scripts(hr, aof_url)
        mail = hr.queue("mail")
        await got(mail.put(0))
        with commands(aof_url) as sent:
            await got(mail.put(1))
            await got(mail.put_many([2, Put(3, priority=1)]))
            await got(hr.chain([("mail", 4), ("mail", 5)]))
            await got(hr.group().put("mail", 6))
            leases = await got(mail.pop("w", count=8))
            await got(leases[0].complete())
            await got(hr.leases.complete(leases[1:2]))
            await got(leases[2].fail("smtp"))
            await got(leases[3].release(delay=60))
            await got(mail.complete_and_pop(leases[4:5], "w"))
            await got(mail.counts())

    call = "FCALL" if form == "functions" else "EVALSHA"
    read = f"{call}_RO"
    assert words(sent) == [
        *[call, "WAITAOF"] * 4,
        call,
        *[call, "WAITAOF"] * 4,
        *[call, call, "WAITAOF"],
        read,
    ]


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_call_and_wait_share_a_round_trip(client_kind: str, aof_url: str) -> None:
    with way_to(aof_url) as way:
        async with opened(client_kind, way.url, namespace="trip", durability="aof") as hr:
            await got(hr.queue("mail").put(1))
            del way.requests[:]
            await got(hr.queue("mail").put(1))

    [request] = way.requests
    assert request.index(b"_put\r") < request.index(b"WAITAOF")


@pytest.mark.usefixtures("slow_disk")
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_timeout_raises_not_durable_with_the_result(client_kind: str, aof_url: str) -> None:
    namespace = f"timeout-{client_kind}"
    async with opened(
        client_kind, aof_url, namespace=namespace, timeout=0.4, durability="aof"
    ) as hr:
        mail = hr.queue("mail")
        began = time.monotonic()
        with pytest.raises(
            NotDurable, match=r"did not write the call to its AOF within 0\.2 s"
        ) as one:
            await got(mail.put(1))
        assert 0.15 < time.monotonic() - began < 5
        assert one.value.maybe_done is True
        assert (await got(hr.job(one.value.result))).state == "waiting"

        with pytest.raises(NotDurable) as many:
            await got(mail.put_many(range(600)))
        assert len(many.value.result) == 600
        assert (await got(mail.counts())).waiting == 601

        leases = await got(mail.pop("w", count=4))
        with pytest.raises(NotDurable) as completed:
            await got(leases[0].complete())
        assert completed.value.result == "complete"
        with pytest.raises(NotDurable) as pair:
            await got(hr.leases.complete(leases[1:3]))
        assert pair.value.result == ["complete", "complete"]
        with pytest.raises(NotDurable) as both:
            await got(mail.complete_and_pop(leases[3:], "w"))
        answers, [following] = both.value.result
        assert answers == ["complete"]
        assert await got(following.heartbeat())


def test_only_the_first_batch_waits_if_the_server_does_not_confirm(
    slow_disk: redis.Redis, aof_url: str
) -> None:
    with headrace.connect(aof_url, namespace="batches", timeout=0.4, durability="aof") as hr:
        with pytest.raises(NotDurable):
            hr.queue("mail").put(1)
        before = waits(slow_disk)
        with pytest.raises(NotDurable):
            hr.queue("mail").put_many(range(1000))
        assert waits(slow_disk) == before + 1


@pytest.mark.usefixtures("slow_disk")
def test_refused_call_raises_its_own_error(aof_url: str) -> None:
    with headrace.connect(aof_url, namespace="refused", timeout=0.4) as hr:
        hr.queue("mail").put(1, id="a")
        with pytest.raises(headrace.JobExists):
            hr.queue("mail").put(1, id="a", on_exists="reject", durability="aof")
        [lease] = hr.queue("mail").pop("w")
        hr.cancel("a")
        with pytest.raises(headrace.JobNotFound):
            lease.complete(durability="aof")


@pytest.mark.usefixtures("slow_disk")
def test_finished_leases_are_not_reported_as_lost(aof_url: str) -> None:
    lost: list[str] = []
    with (
        headrace.connect(aof_url, namespace="watched", timeout=0.4) as hr,
        hr.watch("w", on_taken=lambda lease, _: lost.append(lease.id)),
    ):
        hr.queue("mail").put(1)
        [lease] = hr.queue("mail").pop("w")
        with pytest.raises(NotDurable):
            lease.complete(durability="aof")
        [held] = hr.core.held_leases
        assert held.proofs() == []
    assert lost == []


def test_queue_and_call_override_the_client(aof_url: str) -> None:
    with (
        headrace.connect(aof_url, namespace="override", durability="aof") as durable,
        headrace.connect(aof_url, namespace="override") as plain,
    ):
        for queue in (durable.queue("mail"), plain.queue("mail", durability="aof")):
            queue.put(0)
            with commands(aof_url) as sent:
                queue.put(1)
                queue.put(2, durability=0)
                queue.put_many([3], durability=0)
                one, two = queue.pop("w", count=2)
                one.complete()
                two.complete(durability=0)
            durable_call = ["FCALL", "WAITAOF"]
            assert words(sent) == [*durable_call, *["FCALL"] * 3, *durable_call, "FCALL"]
        with commands(aof_url) as sent:
            plain.queue("mail").put(3)
            plain.queue("mail").put(4, durability="aof")
            durable.queue("mail", durability=0).put(5)
        assert words(sent) == ["FCALL", "FCALL", "WAITAOF", "FCALL"]


@pytest.mark.parametrize("wrong", ["disk", -1, 101, 1.5, True])
def test_wrong_durability_is_refused(wrong: Any, hr: Client) -> None:
    for call in (
        lambda: headrace.connect("unix:///nowhere", durability=wrong),
        lambda: headrace.App("shop", durability=wrong),
        lambda: hr.queue("mail", durability=wrong),
        lambda: hr.queue("mail").put(1, durability=wrong),
    ):
        with pytest.raises(InvalidArgument, match="durability"):
            call()


def test_items_have_no_durability_of_their_own(hr: Client) -> None:
    with pytest.raises(InvalidArgument, match="durability is an option of the call"):
        hr.queue("mail").put_many([Put(1, durability="aof")])


# servers that cannot confirm


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_server_without_an_append_only_file_is_refused_before_the_put(
    client_kind: str, url: str
) -> None:
    async with opened(client_kind, url, namespace=f"no-aof-{client_kind}", durability="aof") as hr:
        with pytest.raises(ServerUnavailable, match="appendonly yes") as refused:
            await got(hr.queue("mail").put(1))
        assert refused.value.maybe_done is False
        assert not isinstance(refused.value, NotDurable)
        assert (await got(hr.queue("mail").counts())).waiting == 0


def test_server_without_waitaof_is_refused_before_the_put() -> None:
    with ExitStack() as servers:
        urls = [servers.enter_context(private_server("--rename-command", "WAITAOF", "", *AOF))]
        if binary := redis_server_path():
            urls.append(servers.enter_context(private_server(*AOF, binary=binary)))
        for each in urls:
            with (
                headrace.connect(each, durability="aof") as hr,
                redis.Redis.from_url(each) as admin,
            ):
                if "waitaof" in admin.command():
                    continue
                with pytest.raises(ServerUnavailable, match=r"Redis 7\.2 or later") as refused:
                    hr.queue("mail").put(1)
                assert refused.value.maybe_done is False
                assert hr.queue("mail").counts().waiting == 0


def test_server_that_can_no_longer_confirm_means_not_durable() -> None:
    with (
        private_server(*AOF) as url,
        headrace.connect(url, durability="aof") as hr,
        redis.Redis.from_url(url) as admin,
    ):
        hr.queue("mail").put(1)
        admin.config_set("appendonly", "no")
        with pytest.raises(NotDurable, match="appendonly yes") as unsure:
            hr.queue("mail").put(2)
        assert hr.job(unsure.value.result)


def test_user_without_the_permission_is_refused_before_the_put(aof_url: str) -> None:
    with redis.Redis.from_url(aof_url) as admin:
        admin.acl_setuser(
            "plain",
            enabled=True,
            passwords=["+secret"],
            keys=["*"],
            channels=["*"],
            categories=["+@all"],
            commands=["-waitaof"],
        )
    url = aof_url.replace("unix://", "unix://plain:secret@")
    with headrace.connect(url, namespace="rights", durability="aof") as hr:
        with pytest.raises(ServerUnavailable, match="permission"):
            hr.queue("mail").put(1)
        assert hr.queue("mail").counts().waiting == 0


# replicas


def test_replica_confirms_a_put() -> None:
    with ExitStack() as servers:
        primary = listen(servers, None, "--repl-diskless-sync-delay", "0")
        replica = listen(servers, None, "--replicaof", f"{HOST} {primary}")
        with (
            redis.Redis(port=replica) as copy,
            headrace.connect(f"redis://{HOST}:{primary}", timeout=2, durability=1) as hr,
        ):
            until(
                lambda: copy.info("replication")["master_link_status"] == "up",
                "the replica is connected",
            )
            job_id = hr.queue("mail").put(1)
            assert copy.exists(hr.core.key(0, f"job:{job_id}"))
            with pytest.raises(NotDurable, match="1 of 2 replicas") as unsure:
                hr.queue("mail").put(2, durability=2)
            assert hr.job(unsure.value.result)


@pytest.mark.timeout(60)
def test_confirmed_puts_survive_a_failover() -> None:
    with sentinel() as watched:
        url = f"redis+sentinel://{watched.host}:{watched.port}/{watched.service}"
        confirmed: list[str] = []
        unsure: list[str] = []
        halfway = threading.Event()
        with headrace.connect(url, retry_for=30, timeout=1, durability=1) as hr:

            def kill() -> None:
                halfway.wait()
                watched.kill_primary()

            with meanwhile(kill):
                # The new primary has no replica, so the puts after the failover are not confirmed.
                while len(unsure) < 2:
                    try:
                        confirmed.append(hr.queue("mail").put(1))
                    except NotDurable as error:
                        unsure.append(error.result)
                    if len(confirmed) == 50:
                        halfway.set()
            assert len(confirmed) >= 50
            waiting = {job.id for job in hr.queue("mail").peek(1000)}
            assert waiting >= {*confirmed, *unsure}
            assert len(waiting) == len(confirmed) + len(unsure)


# interruptions


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_call_is_repeated_if_the_connection_breaks_while_it_waits(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n", durability="aof") as hr:
        await got(hr.queue("mail").put(0))
        with redis.Redis.from_url(server.url) as admin:
            admin.config_set("appendfsync", "no")

            def restart() -> None:
                until(lambda: admin.info("clients")["blocked_clients"] == 1, "the put waits")
                server.kill()
                server.start()

            restarting = asyncio.to_thread(restart)
            task = asyncio.create_task(restarting)
            if client_kind == "sync":
                job_id = await asyncio.to_thread(hr.queue("mail").put, 1)
            else:
                job_id = await hr.queue("mail").put(1)
            await task
        with redis.Redis.from_url(server.url) as admin:
            assert waits(admin) == 1
        assert (await got(hr.job(job_id))).state == "waiting"
        assert (await got(hr.queue("mail").counts())).waiting == 2


@pytest.mark.usefixtures("slow_disk")
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_repeated_call_waits_for_the_effect_of_the_first(
    client_kind: str, aof_url: str
) -> None:
    with way_to(aof_url) as way:
        async with opened(client_kind, way.url, namespace=f"cut-{client_kind}", timeout=0.4) as hr:
            mail = hr.queue("mail", durability="aof")
            way.lose("WAITAOF", "before the answer", skip=1)
            with pytest.raises(NotDurable) as unsure:
                await got(mail.put(1))
            assert way.cuts == 1
            assert (await got(hr.job(unsure.value.result))).state == "waiting"

            [lease] = await got(mail.pop("w"))
            way.lose("WAITAOF", "before the answer")
            with pytest.raises(NotDurable):
                await got(lease.complete())
            assert way.cuts == 2
            assert (await got(hr.audit())).problems == []
            assert [event.number for event in await listed(hr.events())] == [1, 2, 3]


def test_call_is_repeated_if_the_primary_becomes_a_replica_while_it_waits() -> None:
    with ExitStack() as servers:
        port = listen(servers, None, *AOF)
        with (
            redis.Redis(port=port) as admin,
            headrace.connect(f"redis://{HOST}:{port}", durability="aof") as hr,
        ):
            hr.queue("mail").put(0)
            admin.config_set("appendfsync", "no")

            def demote_and_promote() -> None:
                until(lambda: admin.info("clients")["blocked_clients"] == 1, "the put waits")
                admin.replicaof(HOST, 1)
                until(
                    lambda: "errorstat_READONLY" in admin.info("errorstats"),
                    "the client repeats the put",
                )
                repeated.set()
                admin.config_set("appendfsync", "always")
                admin.replicaof("NO", "ONE")

            repeated = threading.Event()
            with meanwhile(demote_and_promote):
                job_id = hr.queue("mail").put(1)
            assert repeated.is_set()
            assert hr.job(job_id)
            assert hr.queue("mail").counts().waiting == 2


# shards


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_each_node_of_a_cluster_confirms(client_kind: str) -> None:
    with cluster() as url, ExitStack() as nodes:
        with redis.Redis.from_url(url) as admin:
            ports = [int(node.split(":")[1].split("@")[0]) for node in admin.cluster("nodes")]
        admins = [nodes.enter_context(redis.Redis(port=port)) for port in ports]
        for each in admins:
            each.config_set("appendonly", "yes")
            until(lambda: not rewrites_log(each), "the append-only file is complete")  # noqa: B023
        async with opened(client_kind, url, namespace="n", shards=8, durability="aof") as hr:
            ids = await got(hr.queue("mail").put_many(range(100)))
            assert len(ids) == 100
            assert all(waits(each) > 8 / 3 for each in admins)
            assert (await got(hr.queue("mail").counts())).waiting == 100


def test_each_shard_of_one_server_confirms(aof_url: str) -> None:
    hr, _ = open_with_clock(aof_url, shards=3, durability="aof")
    with hr:
        hr.queue("mail").put(0)
        with commands(aof_url) as sent:
            hr.queue("mail").put_many(range(60))
        assert words(sent) == ["FCALL"] * 3 + ["WAITAOF"] * 3
