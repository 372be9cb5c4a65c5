"""The permissions, addresses and repairs in docs/guides/operations.md are correct."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.cli.events import newest
from headrace.client.connect import ConnectOptions
from headrace.engine.record import name_in
from headrace.engine.script import LIBRARY, operations
from headrace.operations.queues import DELETE_AT_MOST
from headrace.telemetry import ServerCollector
from tests.conftest import KINDS
from tests.docs.pages import ROOT, blocks
from tests.proof import proves
from tests.support import servers

PAGE = ROOT / "docs" / "guides" / "operations.md"
SENT_BY_CLIENTS = "evalsha script|load info cluster|slots ssubscribe ping xrange xrevrange xread"
NAMESPACE = "shop"


def rights(user: str = NAMESPACE) -> list[str]:
    """Return the ACL rules of a user on the page."""
    every = [block.text.split() for block in blocks(PAGE) if block.kind == "acl"]
    [rules] = [rules[2:] for rules in every if rules[:2] == ["user", user]]
    return rules


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A private server, because other tests would see its users and this namespace."""
    with getattr(servers, request.param)() as found:
        yield found


@pytest.fixture
def admin(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as server:
        server.execute_command("ACL", "SETUSER", NAMESPACE, *rights())
        yield server


@pytest.fixture
def address(url: str, admin: redis.Redis) -> str:
    """The URL of the server with the user of the page."""
    assert admin.ping()
    return url.replace("unix://", f"unix://{NAMESPACE}:password@")


def test_rights_match_the_commands_of_clients_and_scripts() -> None:
    words = {word for op in operations() for word in re.findall(r"'([A-Z]+)'", LIBRARY[op].text)}
    known = {command for command in words if command.lower() in _commands()}
    granted = {rule[1:] for rule in rights() if rule.startswith("+")}

    assert granted == {command.lower() for command in known} | set(SENT_BY_CLIENTS.split())


def _commands() -> set[str]:
    with servers.valkey() as url, redis.Redis.from_url(url) as server:
        return {name.decode() for name in server.command_list()}


def test_user_with_these_rights_can_make_every_call(address: str, admin: redis.Redis) -> None:
    with headrace.connect(address, namespace=NAMESPACE) as hr:
        make_every_call(hr)

        assert hr.audit().problems == []
        assert newest(hr, 1, lambda _: True, {})
    refused = {_text(entry, "object") for entry in admin.execute_command("ACL", "LOG")}
    assert refused <= {"client|setinfo"}


@pytest.mark.parametrize(("right", "is_script"), [("zadd", True), ("evalsha", False)])
def test_missing_right_raises_an_error_that_names_the_page(
    address: str, admin: redis.Redis, right: str, *, is_script: bool
) -> None:
    with headrace.connect(address, namespace=NAMESPACE) as hr:
        admin.execute_command("ACL", "SETUSER", NAMESPACE, f"-{right}")

        with pytest.raises(ServerUnavailable, match=r"lacks a permission.*Rights") as refused:
            hr.queue("mail").put(1)

    assert refused.value.maybe_done is is_script


def _text(entry: dict[str | bytes, bytes], name: str) -> str:
    return (entry.get(name) or entry[name.encode()]).decode()


def make_every_call(hr: Client) -> None:
    """Make every kind of call."""
    mail = hr.queue("mail")
    mail.configure(lease=60)
    hr.config.set("retries", 3)
    hr.config.unset("retries")
    ids = mail.put_many(range(20), tags=["a"])
    mail.put(b"x".decode() * 5000, id="large", priority=-1, start_within=60)
    mail.put("late", id="late", delay=60)
    assert (len(mail.peek(3)), mail.length()) == (3, 22)
    with hr.session("ann", ttl=60) as session:
        assert session.serve("mail")
        assert session.renew()
        first, *leases = mail.pop("ann", count=10, wait=1)
        assert first.id == "large"
        first.progress(0.5, "half")
        first.log("line")
        first.heartbeat(data="small")
        first.complete("result")
        leases[0].fail("smtp", retry_in=0)
        leases[1].fail("smtp")
        leases[2].release(position="back")
        leases[3].complete(next="archive")
        hr.leases.complete(leases[4:7])
        session.unserve("mail")
    assert hr.result("large", take=True).value == "result"
    assert mail.pop("bob", lease=0)
    hr.sweep()
    assert mail.pop("bob")
    operate(hr, ids)
    assert hr.failures.counts() == {"smtp": 1, "typo": 1}
    assert hr.retry(failure="smtp") == ["waiting"]
    assert len(hr.queues()) == 2
    assert hr.workers.list() == []
    assert mail.stats().wait.count > 0
    assert mail.jobs("waiting").total == mail.counts().waiting
    assert next(hr.events(follow=True)).kind == "put"
    mail.schedule("tick", "x", every=60)
    mail.schedule("noon", "x", cron="0 12 * * *", zone="Europe/Berlin")
    assert "tick-1" in [job.id for job in mail.peek(100)]
    hr.schedules.update("noon", every=60)
    assert len(hr.schedules.list()) == 2
    assert hr.schedules.delete("noon") == ["noon"]
    hr.queue("archive").delete()
    use_feeds(hr)
    use_dependencies(hr)


def use_feeds(hr: Client) -> None:
    """Make every kind of call on feeds."""
    news = hr.feeds.create("news", max_length=2)
    with news.listen(wait=10) as changes, hr.feeds.listen(wait=10) as all_changes:
        news.publish_many([1, 2, 3])
        assert (next(changes).kind, next(all_changes).kind) == ("published", "published")
    line = hr.feeds.create("line", sorted=True)
    line.publish_many(["a", "b"])
    line.publish("c", before="2")
    line.move("1", last=True)
    assert line.ids() == ["3", "2", "1"]
    assert line.retract("3") == ["3"]
    news.configure(max_length=1)
    assert (news.length(), len(news.all()), hr.feeds.list()) == (1, 1, ["news", "line"])
    line.delete()


def use_dependencies(hr: Client) -> None:
    """Make calls on dependencies, with more dependents than one step unlocks."""
    flow = hr.queue("flow")
    first, *_ = hr.chain([("flow", 1), ("flow", 2)])
    for _ in range(2):
        flow.put_many([0] * 300, depends_on=[first], if_dependency_fails="run")
        hr.fail(first, "typo")
        hr.retry(first)
    group = hr.group()
    group.put("flow", 1)
    assert hr.dependencies.add(group.then("flow", 2), on=[first]) == "blocked"
    assert group.pending() == 1
    hr.cancel(first, cascade=True)
    hr.sweep()
    assert flow.counts().blocked == 0
    flow.delete()


def operate(hr: Client, ids: list[str]) -> None:
    """Make every operator call on jobs, running or not."""
    mail = hr.queue("mail")
    one, two, three = mail.pop("carol", count=3)
    assert hr.timeout(one.id) == ["waiting"]
    assert hr.release(two.id) == "waiting"
    assert hr.finish(three.id, 3) == "complete"
    assert hr.prioritise(ids[-1], 5) == "waiting"
    assert hr.fail(ids[-2], "typo") == "failed"
    assert hr.requeue(ids[-3], "mail") == "waiting"
    assert hr.cancel("late") == ["late"]
    mail.put("twice" * 1000)
    assert len(hr.queue("mail").matching("twice" * 1000)) == 1
    assert len(hr.queue("mail").cancel_matching("twice" * 1000)) == 1
    hr.session("dora", ttl=None)
    hr.workers.end("dora")
    assert next(ServerCollector(hr).collect()).samples[0].value == 1


@proves("R-01")
def test_producer_with_these_rights_can_only_push(
    url: str, admin: redis.Redis, address: str
) -> None:
    admin.execute_command("ACL", "SETUSER", "producer", *rights("producer"))
    key = f"hr:{{{NAMESPACE}:0}}:ingress:mail"
    with (
        headrace.connect(address, namespace=NAMESPACE) as hr,
        redis.Redis.from_url(url.replace("//", "//producer:password@")) as producer,
    ):
        assert producer.lpush(key, '"pushed"') == 1
        assert producer.spublish(f"hr:{{{NAMESPACE}:0}}:queue:mail", "work 1") == 0
        for forbidden in (
            ("RPOP", key),
            ("LPUSH", f"{key}s", "x"),
            ("GET", f"hr:{{{NAMESPACE}:0}}:job:x"),
            ("SPUBLISH", f"hr:{{{NAMESPACE}:0}}:worker:w", "x"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                producer.execute_command(*forbidden)

        assert [lease.data for lease in hr.queue("mail").pop("w")] == ["pushed"]


def test_user_with_these_rights_cannot_use_another_namespace(address: str) -> None:
    with pytest.raises(ServerUnavailable, match="nothing was changed"):
        headrace.connect(address, namespace="other")


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
    assert hr.audit().problems == []


def test_page_states_how_many_jobs_one_step_deletes() -> None:
    assert f"Up to {DELETE_AT_MOST} jobs" in PAGE.read_text()
