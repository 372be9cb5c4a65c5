"""What docs/operations.md says of rights, addresses and repairs is so."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.cli.events import newest
from headrace.client.connect import wanted
from headrace.client.talks.queues import DELETE_AT_MOST
from headrace.engine.record import name_in
from headrace.engine.script import LIBRARY, operations
from headrace.telemetry import ServerCollector
from tests import servers
from tests.conftest import KINDS
from tests.docs.pages import ROOT, blocks
from tests.proof import proves

PAGE = ROOT / "docs" / "operations.md"
SENT_BY_CLIENTS = "evalsha script|load info cluster|slots ssubscribe ping xrange xrevrange xread"
NAMESPACE = "shop"


def rights(user: str = NAMESPACE) -> list[str]:
    """The rules of a user on the page."""
    every = [block.text.split() for block in blocks(PAGE) if block.kind == "acl"]
    [rules] = [rules[2:] for rules in every if rules[:2] == ["user", user]]
    return rules


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server of one's own: users and this namespace would be seen by others."""
    with getattr(servers, request.param)() as found:
        yield found


@pytest.fixture
def admin(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as server:
        server.execute_command("ACL", "SETUSER", NAMESPACE, *rights())
        yield server


@pytest.fixture
def address(url: str, admin: redis.Redis) -> str:
    """The server as the user of the page reaches it."""
    assert admin.ping()
    return url.replace("unix://", f"unix://{NAMESPACE}:password@")


def test_the_rights_are_what_clients_send_and_scripts_use() -> None:
    words = {word for op in operations() for word in re.findall(r"'([A-Z]+)'", LIBRARY[op].text)}
    known = {command for command in words if command.lower() in _commands()}
    granted = {rule[1:] for rule in rights() if rule.startswith("+")}

    assert granted == {command.lower() for command in known} | set(SENT_BY_CLIENTS.split())


def _commands() -> set[str]:
    with servers.valkey() as url, redis.Redis.from_url(url) as server:
        return {name.decode() for name in server.command_list()}


def test_a_user_with_these_rights_can_do_everything(address: str, admin: redis.Redis) -> None:
    with headrace.connect(address, namespace=NAMESPACE) as hr:
        live_a_life(hr)

        assert hr.audit().problems == []
        assert newest(hr, 1, lambda _: True, {})
    refused = {_text(entry, "object") for entry in admin.execute_command("ACL", "LOG")}
    assert refused <= {"client|setinfo"}


@pytest.mark.parametrize(("right", "is_script"), [("zadd", True), ("evalsha", False)])
def test_a_user_that_lacks_a_right_is_told_so(
    address: str, admin: redis.Redis, right: str, *, is_script: bool
) -> None:
    with headrace.connect(address, namespace=NAMESPACE) as hr:
        admin.execute_command("ACL", "SETUSER", NAMESPACE, f"-{right}")

        with pytest.raises(ServerUnavailable, match=r"lacks a right.*Rights") as refused:
            hr.queue("mail").put(1)

    assert refused.value.maybe_done is is_script


def _text(entry: dict[str | bytes, bytes], name: str) -> str:
    return (entry.get(name) or entry[name.encode()]).decode()


def live_a_life(hr: Client) -> None:
    """Every kind of call."""
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
        hr.complete_many(leases[4:7])
        session.unserve("mail")
    assert hr.result("large", take=True).value == "result"
    assert mail.pop("bob", lease=0)
    hr.sweep()
    assert mail.pop("bob")
    by_operator(hr, ids)
    assert hr.failures() == {"smtp": 1, "typo": 1}
    assert hr.retry(failure="smtp") == ["waiting"]
    assert len(hr.queues()) == 2
    assert hr.workers() == []
    assert mail.stats().wait.count > 0
    assert mail.jobs("waiting").total == mail.counts().waiting
    assert next(hr.events(follow=True)).kind == "put"
    mail.schedule("tick", "x", every=60)
    mail.schedule("noon", "x", cron="0 12 * * *", zone="Europe/Berlin")
    assert "tick-1" in [job.id for job in mail.peek(100)]
    hr.reschedule("noon", every=60)
    assert len(hr.schedules()) == 2
    assert hr.unschedule("noon") == ["noon"]
    hr.queue("archive").delete()
    publish(hr)
    by_links(hr)


def publish(hr: Client) -> None:
    """What is done to feeds."""
    news = hr.create_feed("news", max_length=2)
    with news.listen(wait=10) as heard, hr.listen_feeds(wait=10) as all_heard:
        news.publish_many([1, 2, 3])
        assert (next(heard).kind, next(all_heard).kind) == ("published", "published")
    line = hr.create_feed("line", sorted=True)
    line.publish_many(["a", "b"])
    line.publish("c", before="2")
    line.move("1", last=True)
    assert line.ids() == ["3", "2", "1"]
    assert line.retract("3") == ["3"]
    news.configure(max_length=1)
    assert (news.length(), len(news.all()), hr.feeds()) == (1, 1, ["news", "line"])
    line.delete()


def by_links(hr: Client) -> None:
    """Jobs that wait for jobs, more than are unlocked in one step."""
    flow = hr.queue("flow")
    first, *_ = hr.chain([("flow", 1), ("flow", 2)])
    for _ in range(2):
        flow.put_many([0] * 300, depends_on=[first], if_dependency_fails="run")
        hr.fail(first, "typo")
        hr.retry(first)
    group = hr.group()
    group.put("flow", 1)
    assert hr.depend(group.then("flow", 2), on=[first]) == "blocked"
    assert group.pending() == 1
    hr.cancel(first, cascade=True)
    hr.sweep()
    assert flow.counts().blocked == 0
    flow.delete()


def by_operator(hr: Client, ids: list[str]) -> None:
    """What an operator does to jobs, running or not."""
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
    assert len(hr.matching("mail", "twice" * 1000)) == 1
    assert len(hr.cancel_matching("mail", "twice" * 1000)) == 1
    hr.session("dora", ttl=None)
    hr.end_worker("dora")
    assert next(ServerCollector(hr).collect()).samples[0].value == 1


@proves("R-01")
def test_a_producer_with_these_rights_can_push_and_no_more(
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


def test_a_user_with_these_rights_reaches_no_other_namespace(address: str) -> None:
    with pytest.raises(ServerUnavailable, match="nothing was changed"):
        headrace.connect(address, namespace="other")


def test_the_addresses_of_the_page_are_understood() -> None:
    addresses = re.findall(r"^\| `(\w[\w+]+://[^`]+)`", PAGE.read_text(), re.MULTILINE)
    assert len(addresses) == 5
    for address in addresses:
        full = address.replace("...", "one:26379/service")
        assert wanted(full, "n", None, "json", None, None, 1, 1).url == full


@pytest.fixture
def broken(url: str) -> Iterator[tuple[Client, redis.Redis]]:
    """A client, and a way round it."""
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
def test_a_job_that_is_not_listed_can_be_put_right(
    broken: tuple[Client, redis.Redis], remedy: str
) -> None:
    hr, server = broken
    server.zrem(WAITING, entry_of_a(server))
    assert "job 'a' is recorded as waiting in mail but not listed there" in hr.audit().problems

    getattr(hr, remedy)("a")

    assert hr.audit().problems == []


def test_a_job_without_a_record_is_passed_over_and_its_counter_corrected_by_hand(
    broken: tuple[Client, redis.Redis],
) -> None:
    hr, server = broken
    server.delete(f"hr:{{{NAMESPACE}:0}}:job:a")
    assert hr.audit().problems == ["job 'a' is listed as waiting but has no record"]

    assert [lease.data for lease in hr.queue("mail").pop("w", count=3)] == ["x", "y"]

    server.hincrby(BOOKS, "waiting", -1)
    server.hincrby(BOOKS, "cancelled", 1)
    assert hr.audit().problems == []


def test_the_page_says_how_many_are_deleted_in_one_step() -> None:
    assert f"Up to {DELETE_AT_MOST} jobs" in PAGE.read_text()
