"""The calls that a user with documented permissions can make."""

from __future__ import annotations

from collections.abc import Callable

from headrace import Client
from headrace.cli.events import newest
from headrace.telemetry import ServerCollector
from tests.support.channels import meanwhile, until_listened_to
from tests.support.servers import until


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
    assert next(hr.events(follow=True)).kind == "configured"
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


def produce(hr: Client, worker: Client) -> None:
    """Put jobs in every way, read them, and wait for a result that `worker` returns."""
    mail = hr.queue("mail")
    first = put_in_every_way(hr, worker)
    with meanwhile(lambda: hr.result(first, wait=20)) as result:
        until_listened_to(worker, "ended:")
        [lease] = worker.queue("mail").pop("w")
        assert lease.id == first
        lease.complete("done")
    assert result.result().value == "done"
    job = hr.job("given")
    assert job is not None
    assert job.tags == ["a"]
    assert mail.counts().waiting > 20
    assert (hr.failures.counts(), len(hr.queues())) == ({}, 2)
    assert worker.audit().problems == []


def put_in_every_way(hr: Client, worker: Client) -> str:
    """Put jobs in every way; return the id of the first."""
    mail = hr.queue("mail")
    first = mail.put("x")
    mail.put("y", id="given", priority=1, delay=60, tags=["a"], retries=3, unique=True)
    mail.put("z", id="given", on_exists="duplicate")
    mail.put("large" * 1000, key="k", throttles=["api"], group="g")
    mail.put_many(range(20))
    hr.chain([("mail", 1), ("mail", 2)])
    first_of_lane(hr, worker)
    return first


def first_of_lane(hr: Client, worker: Client) -> None:
    """Put jobs that become the first jobs of a waiting lane and of a parked lane."""
    worker.queue("fair").configure(fair=True, key_concurrency=1)
    fair = hr.queue("fair")
    fair.put(1, key="k")
    fair.put(2, key="k", priority=-1)
    worker.queue("fair").pop("w", count=9)
    fair.put(3, key="k", priority=-2)


def prepare_for_observer(hr: Client) -> None:
    """Create something of each kind that an observer can read."""
    mail = hr.queue("mail")
    mail.configure(lease=600, key_concurrency=1)
    ids = mail.put_many(range(5), tags=["a"])
    mail.put("large" * 1000, id="large", delay=60)
    mail.put("blocked", id="blocked", depends_on=ids[:1], key="k")
    hr.session("ann", ttl=None).serve("mail")
    failing, done, running = mail.pop("ann", count=3)
    failing.fail("smtp", "busy", traceback="Traceback: ...")
    done.complete("result")
    running.progress(0.5, "half")
    running.log("line")
    hr.tracking.add(ids[4])
    hr.group("g").put("mail", "member")
    mail.schedule("noon", "x", cron="0 12 * * *", zone="Europe/Berlin")
    hr.throttles.set("api", concurrency=1)
    hr.feeds.create("news").publish("a")
    hr.feeds.create("line", sorted=True).publish_many(["a", "b"])


def observe(hr: Client, writer: Client) -> None:
    """Make every kind of call that an observer may make, while `writer` changes data."""
    mail = hr.queue("mail")
    assert mail.counts().waiting == mail.jobs("waiting").total == mail.length() - 3
    for state in ("scheduled", "blocked", "running", "failed", "complete"):
        assert mail.jobs(state).total == 1, state
    found = hr.job("large")
    assert found is not None
    assert found.data == "large" * 1000
    assert len(mail.peek(9)) == mail.counts().waiting
    assert hr.result(mail.jobs("complete").jobs[0].id).value == "result"
    waiting = mail.jobs("waiting").jobs[-1].id
    assert "blocked" not in hr.why_waiting(waiting) != hr.why_waiting("blocked")
    assert (mail.settings()["lease"], len(hr.queues())) == (600, 1)
    assert (mail.stats().wait.count, hr.config.get("retries")) == (3, writer.config.get("retries"))
    assert [len(mail.matching(data)) for data in (4, "large" * 1000)] == [1, 1]
    assert hr.failures.counts() == {"smtp": 1}
    assert len(hr.failures.groups()) == len(hr.failures.jobs("smtp").jobs) == 1
    assert hr.failures.retry("smtp", dry_run=True).matched == 1
    assert [worker.name for worker in hr.workers.list()] == ["ann"]
    assert dict(hr.tags.top()) == {"a": 5}
    assert len(hr.tags.jobs("a").jobs) == 5
    assert len(hr.tracking.list().jobs) == 1
    assert hr.group("g").pending() == 1
    assert [one.id for one in hr.schedules.list()] == ["noon"]
    assert hr.throttles.list() != []
    assert hr.throttles.get("api") is not None
    assert (hr.lakes.list(), hr.writes.list(), hr.writes.get("none")) == ([], [], None)
    assert hr.feeds.list() == ["news", "line"]
    assert hr.feed("news").length() == 1
    assert (hr.feeds.exists("line"), hr.feeds.exists("none")) == (True, False)
    assert hr.audit().problems == []
    assert next(ServerCollector(hr).collect()).samples[0].value == 1
    assert newest(hr, 1, lambda _: True, {})
    follow(hr, writer)


def follow(hr: Client, writer: Client) -> None:
    """Follow events, feeds and tracked jobs while another client changes them."""
    writer.core.transport.send([(0, ("CONFIG", "RESETSTAT"))])

    def cancel() -> None:
        until(lambda: b"cmdstat_xread:" in commandstats(writer), "the observer waits for events")
        writer.cancel("large")

    with meanwhile(cancel):
        assert "cancelled" in (event.kind for event in hr.events(follow=True))
    with (
        hr.feeds.listen(wait=20) as published,
        hr.tracking.listen(wait=20) as tracked,
    ):
        writer.feed("news").publish("b")
        writer.cancel(*(job.id for job in writer.tracking.list().jobs))
        assert (next(published).kind, next(tracked).kind) == ("published", "cancelled")


def commandstats(hr: Client) -> bytes:
    """Return how often the server has run each command."""
    [found] = hr.core.transport.send([(0, ("INFO", "commandstats"))])
    assert isinstance(found, bytes)
    return found


def puts(hr: Client) -> list[Callable[[], object]]:
    """Return calls that would add jobs."""
    mail = hr.queue("mail")
    return [lambda: mail.put(1), lambda: mail.put_many([1, 2])]


def changes(hr: Client) -> list[Callable[[], object]]:
    """Return calls that would change data, each in a different way."""
    mail = hr.queue("mail")
    return [
        lambda: mail.pop("w"),
        lambda: hr.result(mail.jobs("complete").jobs[0].id, take=True),
        lambda: hr.cancel("large"),
        lambda: hr.retry(failure="smtp"),
        lambda: mail.configure(lease=1),
        mail.pause,
        mail.delete,
        hr.sweep,
        lambda: hr.session("bob"),
        lambda: hr.feed("new"),
    ]
