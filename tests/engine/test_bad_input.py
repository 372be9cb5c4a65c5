"""Invalid input is refused with an error that gives the reason, and changes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace import (
    Client,
    Fail,
    Feed,
    Group,
    InvalidArgument,
    JobNotFound,
    Lease,
    LeaseLost,
    Put,
    Queue,
    Session,
    SessionEnded,
)
from headrace.client import method_groups
from headrace.operations.lakes import mark_lake
from headrace.testing import open_with_clock
from headrace.transport.drive import drive
from tests.engine.support import bad_values as bad
from tests.support.dump import dump


@dataclass
class World:
    """A namespace with a job in every state, and a worker with a session."""

    hr: Client
    queue: Queue
    lease: Lease
    other: Lease
    session: Session
    news: Feed
    line: Feed


@pytest.fixture(scope="module")
def world(valkey_url: str) -> Iterator[World]:
    hr, _ = open_with_clock(valkey_url)
    with hr:
        queue = hr.queue("mail")
        queue.put_many([Put(name, id=name) for name in ("held", "other", "done", "waits")])
        [lease], [other], [done] = queue.pop("w"), queue.pop("w"), queue.pop("w")
        done.complete("well")
        queue.put("x", id="later", delay=60)
        queue.put("x", id="set aside")
        hr.fail("set aside", "boom")
        queue.schedule("tick", "x", every=60, delay=60)
        session = hr.session("w")
        session.serve("mail")
        news, line = hr.feeds.create("news"), hr.feeds.create("line", sorted=True)
        line.publish("x", id="there")
        yield World(hr, queue, lease, other, session, news, line)


def complete(world: World, results: Any = None, **options: Any) -> Any:
    return world.hr.leases.complete([world.lease], results, **options)


NOT_A_LENGTH: list[Any] = [0, -1, 1.5, "3", True, 10**9 + 1]

Row = tuple[str, Callable[[World, Any], Any], list[Any]]

NAMES: list[Row] = [
    ("Client.queue", lambda w, bad: w.hr.queue(bad), bad.NOT_A_NAME),
    ("Client.cancel", lambda w, bad: w.hr.cancel("waits", bad), bad.NOT_A_NAME),
    ("Client.chain queue", lambda w, bad: w.hr.chain([(bad, 1)]), bad.NOT_A_NAME),
    ("Client.chain id", lambda w, bad: w.hr.chain([("q", Put(1, id=bad))]), bad.NOT_A_NAME[1:]),
    ("Dependencies.add", lambda w, bad: w.hr.dependencies.add(bad, on=["held"]), bad.NOT_A_NAME),
    (
        "Dependencies.add on",
        lambda w, bad: w.hr.dependencies.add("waits", on=[bad]),
        bad.NOT_A_NAME,
    ),
    (
        "Dependencies.add list",
        lambda w, bad: w.hr.dependencies.add("waits", on=bad),
        bad.NOT_A_LIST,
    ),
    ("Queue.cancel_matching", lambda w, bad: w.hr.queue(bad).cancel_matching("x"), bad.NOT_A_NAME),
    ("Queue.matching", lambda w, bad: w.hr.queue(bad).matching("x"), bad.NOT_A_NAME),
    ("Client.watch", lambda w, bad: w.hr.watch(bad), bad.NOT_A_NAME),
    ("Workers.end", lambda w, bad: w.hr.workers.end(bad), bad.NOT_A_NAME),
    ("Client.fail", lambda w, bad: w.hr.fail(bad, "boom"), bad.NOT_A_NAME),
    ("Client.fail type", lambda w, bad: w.hr.fail("waits", bad), bad.NOT_A_NAME),
    ("Failures.jobs", lambda w, bad: w.hr.failures.jobs(bad), bad.NOT_A_NAME),
    ("Client.finish", lambda w, bad: w.hr.finish(bad), bad.NOT_A_NAME),
    ("Client.group", lambda w, bad: w.hr.group(bad), bad.NOT_A_NAME[1:]),
    ("Client.job", lambda w, bad: w.hr.job(bad), bad.NOT_A_NAME),
    ("Client.jobs", lambda w, bad: w.hr.jobs(["waits", bad]), bad.NOT_A_NAME),
    ("Client.jobs list", lambda w, bad: w.hr.jobs(bad), bad.NOT_A_LIST),
    ("Client.prioritise", lambda w, bad: w.hr.prioritise(bad, 1), bad.NOT_A_NAME),
    ("Client.release", lambda w, bad: w.hr.release(bad), bad.NOT_A_NAME),
    ("Client.requeue", lambda w, bad: w.hr.requeue(bad), bad.NOT_A_NAME),
    ("Client.requeue queue", lambda w, bad: w.hr.requeue("waits", bad), bad.NOT_A_NAME[1:]),
    ("Schedules.update", lambda w, bad: w.hr.schedules.update(bad, every=5), bad.NOT_A_NAME),
    ("Client.result", lambda w, bad: w.hr.result(bad), bad.NOT_A_NAME),
    ("Client.retry", lambda w, bad: w.hr.retry("set aside", bad), bad.NOT_A_NAME),
    ("Failures.retry", lambda w, bad: w.hr.failures.retry(bad), bad.NOT_A_NAME[1:]),
    (
        "Failures.retry queue",
        lambda w, bad: w.hr.failures.retry(queue=bad),
        bad.NOT_A_NAME[1:],
    ),
    ("Failures.cancel", lambda w, bad: w.hr.failures.cancel(bad), bad.NOT_A_NAME[1:]),
    ("Failures.cancel tag", lambda w, bad: w.hr.failures.cancel(tag=bad), bad.NOT_A_NAME[1:]),
    ("Client.retry queue", lambda w, bad: w.hr.retry("set aside", queue=bad), bad.NOT_A_NAME[1:]),
    ("Client.retry type", lambda w, bad: w.hr.retry(failure=bad), bad.NOT_A_NAME),
    ("Schedules.get", lambda w, bad: w.hr.schedules.get(bad), bad.NOT_A_NAME),
    ("Schedules.list", lambda w, bad: w.hr.schedules.list(bad), bad.NOT_A_NAME[1:]),
    ("Schedules.delete", lambda w, bad: w.hr.schedules.delete("tick", bad), bad.NOT_A_NAME),
    ("Client.session", lambda w, bad: w.hr.session(bad), bad.NOT_A_NAME),
    ("Throttles.delete", lambda w, bad: w.hr.throttles.delete(bad), bad.NOT_A_NAME),
    ("Throttles.set", lambda w, bad: w.hr.throttles.set(bad), bad.NOT_A_NAME),
    ("Throttles.get", lambda w, bad: w.hr.throttles.get(bad), bad.NOT_A_NAME),
    ("Client.timeout", lambda w, bad: w.hr.timeout("held", bad), bad.NOT_A_NAME),
    ("Client.why_waiting", lambda w, bad: w.hr.why_waiting(bad), bad.NOT_A_NAME),
    ("Writes.get", lambda w, bad: w.hr.writes.get(bad), bad.NOT_A_NAME),
    ("Dependencies.remove", lambda w, bad: w.hr.dependencies.remove(bad), bad.NOT_A_NAME),
    (
        "Dependencies.remove from",
        lambda w, bad: w.hr.dependencies.remove("waits", bad),
        bad.NOT_A_NAME,
    ),
    ("Config.get", lambda w, bad: w.hr.config.get(bad), bad.NOT_A_NAME[1:]),
    ("Config.set", lambda w, bad: w.hr.config.set(bad, 1), bad.NOT_A_NAME),
    ("Config.unset", lambda w, bad: w.hr.config.unset(bad), bad.NOT_A_NAME),
    ("Group.put", lambda w, bad: w.hr.group("g").put(bad, 1), bad.NOT_A_NAME),
    ("Group.put_many", lambda w, bad: w.hr.group("g").put_many(bad, [1]), bad.NOT_A_NAME),
    ("Group.then", lambda w, bad: w.hr.group("g").then(bad, 1), bad.NOT_A_NAME),
    ("Group.then id", lambda w, bad: w.hr.group("g").then("q", 1, id=bad), bad.NOT_A_NAME[1:]),
    ("Lease.complete next", lambda w, bad: w.lease.complete(next=bad), bad.NOT_A_NAME[1:]),
    ("Lease.fail", lambda w, bad: w.lease.fail(bad), bad.NOT_A_NAME),
    ("Queue.pop", lambda w, bad: w.queue.pop(bad), bad.NOT_A_NAME),
    ("Queue.schedule", lambda w, bad: w.queue.schedule(bad, "x", every=5), bad.NOT_A_NAME),
    ("Queue.schedule long", lambda w, bad: w.queue.schedule(bad, "x", every=5), ["x" * 231]),
    ("Queue.put id", lambda w, bad: w.queue.put("x", id=bad), bad.NOT_A_NAME[1:]),
    ("Session.serve", lambda w, bad: w.session.serve(bad), bad.NOT_A_NAME),
    ("Session.unserve", lambda w, bad: w.session.unserve(bad), bad.NOT_A_NAME),
]

SPANS: list[Row] = [
    ("Client.release", lambda w, bad: w.hr.release("held", delay=bad), bad.NOT_A_SPAN),
    ("Client.requeue", lambda w, bad: w.hr.requeue("waits", delay=bad), bad.NOT_A_SPAN),
    ("Client.result", lambda w, bad: w.hr.result("waits", wait=bad), bad.NOT_A_SPAN),
    ("Client.retry", lambda w, bad: w.hr.retry("set aside", delay=bad), bad.NOT_A_SPAN),
    ("Client.session", lambda w, bad: w.hr.session("w", ttl=bad), bad.NOT_A_SPAN),
    ("Throttles.set", lambda w, bad: w.hr.throttles.set("api", ttl=bad), bad.NOT_A_SPAN),
    ("Config.set", lambda w, bad: w.hr.config.set("keep_age", bad), [None, *bad.NOT_A_SPAN]),
    ("Queue.configure", lambda w, bad: w.queue.configure(lease=bad), bad.NOT_A_SPAN),
    ("Queue.pop lease", lambda w, bad: w.queue.pop("w", lease=bad), bad.NOT_A_LEASE),
    ("Queue.pop wait", lambda w, bad: w.queue.pop("w", wait=bad), bad.NOT_A_SPAN),
    ("Queue.put delay", lambda w, bad: w.queue.put("x", delay=bad), bad.NOT_A_SPAN),
    ("Queue.put at", lambda w, bad: w.queue.put("x", at=bad), bad.NOT_A_MOMENT),
    (
        "Queue.put at and delay",
        lambda w, bad: w.queue.put("x", at=datetime(2026, 1, 1, tzinfo=UTC), delay=bad),
        [0, 1.5],
    ),
    ("Queue.put within", lambda w, bad: w.queue.put("x", start_within=bad), bad.NOT_A_SPAN),
    ("Queue.put ttl", lambda w, bad: w.queue.put("x", result_ttl=bad), bad.NOT_A_SPAN),
    ("Lease.complete", lambda w, bad: w.lease.complete(next="q", delay=bad), bad.NOT_A_SPAN),
    ("Lease.fail", lambda w, bad: w.lease.fail("boom", retry_in=bad), bad.NOT_A_SPAN),
    ("Lease.heartbeat", lambda w, bad: w.lease.heartbeat(lease_for=bad), bad.NOT_A_SPAN),
    ("Lease.release", lambda w, bad: w.lease.release(delay=bad), bad.NOT_A_SPAN),
    ("Leases.complete", lambda w, bad: complete(w, next="q", delay=bad), bad.NOT_A_SPAN),
    (
        "Leases.release",
        lambda w, bad: w.hr.leases.release([w.lease], delay=bad),
        bad.NOT_A_SPAN,
    ),
    (
        "Leases.heartbeat",
        lambda w, bad: w.hr.leases.heartbeat([w.lease], lease_for=bad),
        bad.NOT_A_SPAN,
    ),
    (
        "Queue.complete_and_pop",
        lambda w, bad: w.queue.complete_and_pop([w.lease], "w", lease=bad),
        bad.NOT_A_LEASE,
    ),
]

COUNTS: list[Row] = [
    ("Client.events", lambda w, bad: list(w.hr.events(count=bad)), bad.NOT_A_COUNT),
    ("Failures.counts", lambda w, bad: w.hr.failures.counts(count=bad), bad.NOT_A_COUNT),
    ("Failures.groups", lambda w, bad: w.hr.failures.groups(count=bad), bad.NOT_A_COUNT),
    ("Failures.groups most", lambda w, bad: w.hr.failures.groups(count=bad), [101]),
    ("Failures.counts from", lambda w, bad: w.hr.failures.counts(offset=bad), bad.NOT_AN_OFFSET),
    ("Failures.jobs", lambda w, bad: w.hr.failures.jobs("boom", count=bad), bad.NOT_A_COUNT),
    (
        "Failures.jobs from",
        lambda w, bad: w.hr.failures.jobs("boom", offset=bad),
        bad.NOT_AN_OFFSET,
    ),
    ("Client.queues", lambda w, bad: w.hr.queues(count=bad), bad.NOT_A_COUNT),
    ("Client.queues from", lambda w, bad: w.hr.queues(offset=bad), bad.NOT_AN_OFFSET),
    ("Client.retry", lambda w, bad: w.hr.retry(failure="boom", count=bad), bad.NOT_A_COUNT),
    ("Throttles.get", lambda w, bad: w.hr.throttles.get("api", count=bad), bad.NOT_A_COUNT),
    ("Throttles.list", lambda w, bad: w.hr.throttles.list(count=bad), bad.NOT_A_COUNT),
    ("Throttles.list from", lambda w, bad: w.hr.throttles.list(offset=bad), bad.NOT_AN_OFFSET),
    ("Workers.list", lambda w, bad: w.hr.workers.list(count=bad), bad.NOT_A_COUNT),
    ("Workers.list from", lambda w, bad: w.hr.workers.list(offset=bad), bad.NOT_AN_OFFSET),
    ("Config.set", lambda w, bad: w.hr.config.set("events_count", bad), bad.NOT_AN_OFFSET),
    ("Queue.jobs", lambda w, bad: w.queue.jobs("waiting", count=bad), bad.NOT_A_COUNT),
    ("Queue.jobs from", lambda w, bad: w.queue.jobs("waiting", offset=bad), bad.NOT_AN_OFFSET),
    ("Queue.peek", lambda w, bad: w.queue.peek(bad), bad.NOT_A_COUNT),
    ("Queue.pop", lambda w, bad: w.queue.pop("w", count=bad), [*bad.NOT_A_COUNT, 501]),
    (
        "Queue.complete_and_pop",
        lambda w, bad: w.queue.complete_and_pop([w.lease], "w", count=bad),
        bad.NOT_A_COUNT,
    ),
]

OTHERS: list[Row] = [
    ("Client.prioritise", lambda w, bad: w.hr.prioritise("waits", bad), bad.NOT_A_NUMBER),
    (
        "Queue.cancel_matching data",
        lambda w, bad: w.hr.queue("q").cancel_matching(bad),
        bad.NOT_DATA,
    ),
    ("Queue.matching data", lambda w, bad: w.hr.queue("q").matching(bad), bad.NOT_DATA),
    ("Client.watch function", lambda w, bad: w.hr.watch("w", on_taken=bad), [5, "f", [print]]),
    ("Queue.put priority", lambda w, bad: w.queue.put("x", priority=bad), bad.NOT_A_NUMBER),
    ("Queue.put retries", lambda w, bad: w.queue.put("x", retries=bad), bad.NOT_RETRIES),
    ("Queue.put tags", lambda w, bad: w.queue.put("x", tags=bad), bad.NOT_TAGS),
    ("Queue.put key", lambda w, bad: w.queue.put("x", key=bad), bad.NOT_A_NAME[1:]),
    ("Queue.put throttles", lambda w, bad: w.queue.put("x", throttles=bad), bad.NOT_TAGS),
    ("Queue.put group", lambda w, bad: w.queue.put("x", group=bad), bad.NOT_A_NAME[1:]),
    ("Queue.put policy", lambda w, bad: w.queue.put("x", if_dependency_fails=bad), ["", "x", 1]),
    ("Queue.put depends", lambda w, bad: w.queue.put("x", depends_on=bad), bad.NOT_TAGS[:-1]),
    ("Queue.put twice", lambda w, bad: w.queue.put("x", on_exists=bad), bad.NOT_A_CHOICE),
    ("Queue.put data", lambda w, bad: w.queue.put(bad), bad.NOT_DATA),
    ("Queue.put_many", lambda w, bad: w.queue.put_many(bad), bad.NOT_A_LIST),
    ("Queue.put_many data", lambda w, bad: w.queue.put_many(["x", bad]), bad.NOT_DATA),
    ("Queue.put_many id", lambda w, bad: w.queue.put_many(["x", Put(1, id=bad)]), bad.NOT_IDS[1:]),
    ("Queue.put_many tags", lambda w, bad: w.queue.put_many([Put(1, tags=bad)]), bad.NOT_TAGS),
    ("Queue.put_many delay", lambda w, bad: w.queue.put_many([Put(1, delay=bad)]), bad.NOT_A_SPAN),
    ("Queue.configure", lambda w, bad: w.queue.configure(bad), bad.NOT_A_CHOICE),
    (
        "Queue.configure what",
        lambda w, bad: w.queue.configure(None, **{bad: 1}),
        ["", "leese", "created"],
    ),
    ("Queue.configure flag", lambda w, bad: w.queue.configure(stats=bad), [None, 1, "yes"]),
    ("Queue.configure log", lambda w, bad: w.queue.configure(events_count=bad), [5]),
    ("Queue.jobs", lambda w, bad: w.queue.jobs(bad), [None, *bad.NOT_A_CHOICE]),
    ("Queue.stats", lambda w, bad: w.queue.stats(bad), bad.NOT_A_DAY),
    ("Queue.complete_and_pop", lambda w, bad: w.queue.complete_and_pop(bad, "w"), bad.NOT_LEASES),
    ("Leases.complete", lambda w, bad: w.hr.leases.complete(bad), bad.NOT_LEASES),
    ("Leases.complete results", complete, [5, "x", [], [1, 2]]),
    ("Leases.complete data", lambda w, bad: complete(w, [bad]), bad.NOT_DATA),
    ("Leases.heartbeat", lambda w, bad: w.hr.leases.heartbeat(bad), bad.NOT_LEASES),
    ("Leases.release", lambda w, bad: w.hr.leases.release(bad), bad.NOT_LEASES),
    ("Client.release", lambda w, bad: w.hr.release("held", position=bad), bad.NOT_A_CHOICE),
    ("Client.retry", lambda w, bad: w.hr.retry(*bad), [(), ([],)]),
    ("Client.retry both", lambda w, bad: w.hr.retry("set aside", failure=bad), ["boom"]),
    ("Client.fail message", lambda w, bad: w.hr.fail("waits", "boom", bad), bad.NOT_A_TEXT),
    ("Client.finish data", lambda w, bad: w.hr.finish("held", bad), bad.NOT_DATA),
    ("Lease.complete", lambda w, bad: w.lease.complete(bad), bad.NOT_DATA),
    ("Lease.complete data", lambda w, bad: w.lease.complete(data=bad), bad.NOT_DATA),
    ("Lease.complete both", lambda w, bad: w.lease.complete(bad, next="q"), [None, 5]),
    ("Lease.complete blocked", lambda w, bad: w.lease.complete(depends_on=bad), [[], ["waits"]]),
    (
        "Lease.complete depends",
        lambda w, bad: w.lease.complete(next="q", depends_on=[bad]),
        bad.NOT_A_NAME,
    ),
    (
        "Leases.complete depends",
        lambda w, bad: complete(w, next="q", depends_on=bad),
        bad.NOT_A_LIST[1:],
    ),
    ("Lease.complete delay", lambda w, bad: w.lease.complete(delay=bad), [5]),
    ("Lease.fail message", lambda w, bad: w.lease.fail("boom", bad), bad.NOT_A_TEXT),
    ("Lease.fail traceback", lambda w, bad: w.lease.fail("x", traceback=bad), [5, b"x", ["x"]]),
    ("Leases.fail", lambda w, bad: w.hr.leases.fail(bad), [*bad.NOT_LEASES, [5], ["x"]]),
    (
        "Leases.fail type",
        lambda w, bad: w.hr.leases.fail([Fail(w.lease, bad)]),
        bad.NOT_A_NAME,
    ),
    (
        "Leases.fail span",
        lambda w, bad: w.hr.leases.fail([Fail(w.lease, "boom", retry_in=bad)]),
        bad.NOT_A_SPAN,
    ),
    ("Lease.fail data", lambda w, bad: w.lease.fail("boom", data=bad), bad.NOT_DATA),
    ("Lease.heartbeat", lambda w, bad: w.lease.heartbeat(data=bad), bad.NOT_DATA),
    ("Lease.log", lambda w, bad: w.lease.log(bad), bad.NOT_A_TEXT),
    ("Lease.progress", lambda w, bad: w.lease.progress(bad), bad.NOT_A_SHARE),
    ("Lease.progress note", lambda w, bad: w.lease.progress(0.5, bad), bad.NOT_A_TEXT),
    ("Lease.release", lambda w, bad: w.lease.release(position=bad), bad.NOT_A_CHOICE),
]

SCHEDULES: list[Row] = [
    ("Queue.schedule every", lambda w, bad: w.queue.schedule("n", 1, every=bad), bad.NOT_AN_EVERY),
    ("Queue.schedule cron", lambda w, bad: w.queue.schedule("n", 1, cron=bad), bad.NOT_A_CRON),
    (
        "Queue.schedule zone",
        lambda w, bad: w.queue.schedule("n", 1, cron="@daily", zone=bad),
        bad.NOT_A_ZONE,
    ),
    (
        "Queue.schedule both",
        lambda w, bad: w.queue.schedule("n", 1, **bad),
        [{}, {"every": 5, "cron": "@daily"}, {"every": 5, "zone": "Europe/Berlin"}],
    ),
    (
        "Queue.schedule delay",
        lambda w, bad: w.queue.schedule("n", 1, every=5, delay=bad),
        bad.NOT_A_SPAN,
    ),
    (
        "Queue.schedule backlog",
        lambda w, bad: w.queue.schedule("n", 1, every=5, backlog=bad),
        [*bad.NOT_AN_OFFSET[1:], 1001],
    ),
    (
        "Queue.schedule tags",
        lambda w, bad: w.queue.schedule("n", 1, every=5, tags=bad),
        bad.NOT_TAGS,
    ),
    ("Queue.schedule data", lambda w, bad: w.queue.schedule("n", bad, every=5), bad.NOT_DATA),
    (
        "Schedules.update every",
        lambda w, bad: w.hr.schedules.update("tick", every=bad),
        bad.NOT_A_SPAN,
    ),
    (
        "Schedules.update cron",
        lambda w, bad: w.hr.schedules.update("tick", cron=bad),
        bad.NOT_A_CRON,
    ),
    (
        "Schedules.update zone",
        lambda w, bad: w.hr.schedules.update("tick", zone=bad),
        bad.NOT_A_ZONE,
    ),
    (
        "Schedules.update none",
        lambda w, bad: w.hr.schedules.update("unknown", **bad),
        [{"cron": "* * *"}, {"every": 0}, {"zone": "Mars"}, {"zone": "UTC", "every": "5"}],
    ),
    (
        "Schedules.update data",
        lambda w, bad: w.hr.schedules.update("tick", data=bad),
        bad.NOT_DATA,
    ),
    (
        "Schedules.update backlog",
        lambda w, bad: w.hr.schedules.update("tick", backlog=bad),
        [-1, 1001, "1"],
    ),
    ("Schedules.list page", lambda w, bad: w.hr.schedules.list(count=bad), bad.NOT_A_COUNT),
    ("Schedules.list from", lambda w, bad: w.hr.schedules.list(offset=bad), bad.NOT_AN_OFFSET),
]

FEEDS: list[Row] = [
    ("Feeds.create", lambda w, bad: w.hr.feeds.create(bad), bad.NOT_A_NAME),
    (
        "Feeds.create most",
        lambda w, bad: w.hr.feeds.create("x", max_length=bad),
        NOT_A_LENGTH,
    ),
    ("Feeds.create about", lambda w, bad: w.hr.feeds.create("x", about=bad), [5, b"x"]),
    ("Client.feed", lambda w, bad: w.hr.feed(bad), bad.NOT_A_NAME),
    ("Feeds.exists", lambda w, bad: w.hr.feeds.exists(bad), bad.NOT_A_NAME),
    ("Feeds.list", lambda w, bad: w.hr.feeds.list(count=bad), bad.NOT_A_COUNT),
    ("Feeds.list from", lambda w, bad: w.hr.feeds.list(offset=bad), bad.NOT_AN_OFFSET),
    ("Feeds.listen", lambda w, bad: w.hr.feeds.listen(wait=bad), bad.NOT_A_SPAN),
    ("Feed.all", lambda w, bad: w.news.all(count=bad), bad.NOT_A_COUNT),
    ("Feed.configure", lambda w, bad: w.news.configure(max_length=bad), NOT_A_LENGTH),
    ("Feed.has", lambda w, bad: w.news.has(bad), bad.NOT_A_NAME),
    ("Feed.ids", lambda w, bad: w.news.ids(order=bad), bad.NOT_A_CHOICE),
    ("Feed.ids count", lambda w, bad: w.news.ids(count=bad), bad.NOT_A_COUNT),
    ("Feed.ids from", lambda w, bad: w.news.ids(offset=bad), bad.NOT_AN_OFFSET),
    ("Feed.item", lambda w, bad: w.news.item(bad), bad.NOT_A_NAME[1:]),
    ("Feed.listen", lambda w, bad: w.news.listen(wait=bad), bad.NOT_A_SPAN),
    ("Feed.move", lambda w, bad: w.line.move("there", bad, first=True), bad.NOT_IDS),
    ("Feed.move before", lambda w, bad: w.line.move("x", before=bad), bad.NOT_A_NAME),
    ("Feed.publish", lambda w, bad: w.news.publish(bad), bad.NOT_DATA),
    ("Feed.publish id", lambda w, bad: w.news.publish("x", id=bad), bad.NOT_IDS[1:]),
    ("Feed.publish after", lambda w, bad: w.line.publish("x", after=bad), bad.NOT_A_NAME[1:]),
    ("Feed.publish_many", lambda w, bad: w.news.publish_many(bad), bad.NOT_A_LIST),
    ("Feed.publish_many item", lambda w, bad: w.news.publish_many(["x", bad]), bad.NOT_DATA),
    ("Feed.publish_many id", lambda w, bad: w.line.publish_many({"x": 1, bad: 2}), bad.NOT_IDS),
    ("Feed.retract", lambda w, bad: w.news.retract("x", bad), bad.NOT_IDS),
]

TIES: list[Row] = [
    ("Tracking.listen", lambda w, bad: w.hr.tracking.listen(wait=bad), bad.NOT_A_SPAN),
    ("Tags.add", lambda w, bad: w.hr.tags.add(bad, "vip"), bad.NOT_A_NAME),
    ("Tags.add with", lambda w, bad: w.hr.tags.add("waits", "vip", bad), bad.NOT_A_NAME),
    ("Tags.add much", lambda w, bad: w.hr.tags.add("waits", *bad), [list(map(str, range(33)))]),
    ("Tags.jobs", lambda w, bad: w.hr.tags.jobs(bad), bad.NOT_A_NAME),
    ("Tags.jobs page", lambda w, bad: w.hr.tags.jobs("vip", count=bad), bad.NOT_A_COUNT),
    ("Tags.jobs from", lambda w, bad: w.hr.tags.jobs("vip", offset=bad), bad.NOT_AN_OFFSET),
    ("Tags.top", lambda w, bad: w.hr.tags.top(count=bad), bad.NOT_A_COUNT),
    ("Writes.list", lambda w, bad: w.hr.writes.list(count=bad), bad.NOT_A_COUNT),
    ("Tags.top from", lambda w, bad: w.hr.tags.top(offset=bad), bad.NOT_AN_OFFSET),
    ("Tags.top least", lambda w, bad: w.hr.tags.top(least=bad), bad.NOT_A_COUNT),
    ("Tracking.add", lambda w, bad: w.hr.tracking.add(bad), bad.NOT_A_NAME),
    ("Tags.remove", lambda w, bad: w.hr.tags.remove(bad, "vip"), bad.NOT_A_NAME),
    ("Tags.remove from", lambda w, bad: w.hr.tags.remove("waits", bad), bad.NOT_A_NAME),
    ("Tracking.remove", lambda w, bad: w.hr.tracking.remove(bad), bad.NOT_A_NAME),
    ("Queue.put unique", lambda w, bad: w.queue.put("x", unique=bad), bad.NOT_A_NAME),
    ("Queue.put_many unique", lambda w, bad: w.queue.put_many(["x"], unique=bad), ["u", ""]),
    (
        "Queue.put_many values",
        lambda w, bad: w.queue.put_many([Put(1, unique=bad)]),
        bad.NOT_A_NAME[1:4],
    ),
]

NOT_AN_ENTRY: list[Any] = [
    "",
    "5",
    "5-",
    "-5",
    "a-b",
    "5-5-5",
    "5-5\n",
    " 5-5",
    None,
    5,
    b"5-5",
]


def mark(world: World, lake: Any, offsets: Any) -> None:
    drive(world.hr.core.transport, mark_lake(world.hr, lake, offsets))


LAKES: list[Row] = [
    ("Lakes.forget", lambda w, bad: w.hr.lakes.forget(bad), bad.NOT_A_NAME),
    ("mark_lake", lambda w, bad: mark(w, bad, {0: "0-0"}), bad.NOT_A_NAME),
    ("mark_lake shard", lambda w, bad: mark(w, "l", {0: "0-0", bad: "0-0"}), [-1, 1, "0", None]),
    ("mark_lake entry", lambda w, bad: mark(w, "l", {0: bad}), NOT_AN_ENTRY),
]

TABLE = NAMES + SPANS + COUNTS + OTHERS + SCHEDULES + FEEDS + TIES + LAKES


@pytest.mark.parametrize(
    ("attempt", "values"),
    [pytest.param(attempt, values, id=name) for name, attempt, values in TABLE],
)
def test_bad_input_is_refused_and_changes_nothing(
    world: World, attempt: Callable[[World, Any], Any], values: list[Any]
) -> None:
    before = dump(world.hr)

    for value in values:
        with pytest.raises(InvalidArgument) as refused:
            pytest.fail(f"{bad.described(value)} was accepted: {attempt(world, value)!r}")
        assert len(str(refused.value)) < 400, bad.described(value)
        assert dump(world.hr) == before, f"{bad.described(value)} changed something"


GROUPS = [
    method_groups.Config,
    method_groups.Dependencies,
    method_groups.Failures,
    method_groups.Feeds,
    method_groups.Lakes,
    method_groups.Leases,
    method_groups.Schedules,
    method_groups.Tags,
    method_groups.Throttles,
    method_groups.Tracking,
    method_groups.Workers,
    method_groups.Writes,
]


def test_every_operation_with_arguments_is_in_the_table() -> None:
    listed = {name.split(" ")[0] for name, _, _ in TABLE}
    for kind in (Client, *GROUPS, Feed, Group, Lease, Queue, Session):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and len(inspect.signature(method).parameters) > 1:
                assert f"{kind.__name__}.{name}" in listed


OWNED: dict[str, Callable[[Lease], Any]] = {
    "complete": lambda lease: lease.complete(),
    "complete with next": lambda lease: lease.complete(next="other"),
    "fail": lambda lease: lease.fail("boom"),
    "fail with retry": lambda lease: lease.fail("boom", retry_in=0),
    "heartbeat": lambda lease: lease.heartbeat(data="new"),
    "log": lambda lease: lease.log("line"),
    "progress": lambda lease: lease.progress(0.5),
    "release": lambda lease: lease.release(),
}


@pytest.mark.parametrize("name", OWNED)
@pytest.mark.parametrize("job_id", ["held", "done", "later", "set aside", "waits", "unknown"])
def test_wrong_token_changes_nothing(world: World, name: str, job_id: str) -> None:
    forged = Lease(world.hr.core, world.lease._popped)
    forged.id = job_id
    before = dump(world.hr)

    for token in ("1.wrong", "x", "1", world.other.token):
        forged.token = token
        with pytest.raises((LeaseLost, JobNotFound)):
            OWNED[name](forged)
        assert dump(world.hr) == before, token


def test_wrong_session_token_changes_nothing(world: World) -> None:
    forged = Session(world.hr.core, "w", "wrong")
    before = dump(world.hr)

    for attempt in (
        forged.renew,
        forged.end,
        lambda: forged.serve("x"),
        lambda: forged.unserve("x"),
    ):
        with pytest.raises(SessionEnded):
            attempt()

    assert dump(world.hr) == before


@pytest.mark.parametrize("option", [{"prioritiy": None}, {"prioritiy": 1}, {"origin": "old"}])
@pytest.mark.parametrize(
    "call",
    [
        lambda queue, options: queue.put("x", **options),
        lambda queue, options: queue.put_many(["x"], **options),
        lambda queue, options: queue.put_many([Put("x", **options)]),
        lambda queue, options: queue.schedule("s", "x", every=60, **options),
    ],
    ids=["put", "put_many", "Put", "schedule"],
)
def test_unknown_option_is_refused_whatever_its_value(
    queue: Queue, call: Callable[[Queue, dict[str, Any]], Any], option: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument, match=f"no option '{next(iter(option))}'"):
        call(queue, option)

    assert queue.length() == 0
