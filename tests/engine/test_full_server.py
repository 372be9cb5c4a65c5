"""A server whose memory is full accepts no new jobs, but still delivers the existing jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

import headrace
from headrace import Client
from tests.support import servers


@pytest.fixture
def full(form: str) -> Iterator[Client]:
    with servers.valkey() as url:
        client = headrace.connect(url)
        queue = client.queue("mail")
        queue.configure(keep_count=0)
        queue.put_many(range(20), tags=["full"])
        client.feeds.create("news").publish_many({"a": 1, "b": 2, "c": 3})
        client.feeds.create("line", sorted=True).publish_many({"a": 1, "b": 2})
        redis.Redis.from_url(url).config_set("maxmemory", "1mb")
        assert client.core.uses_scripts == (form == "script")
        yield client
        client.close()


def test_put_is_refused_and_changes_nothing(full: Client) -> None:
    with pytest.raises(headrace.ServerUnavailable, match="free memory or raise maxmemory"):
        full.queue("mail").put("one more")
    assert full.queue("mail").counts().waiting == 20
    [job] = full.queue("mail").peek(1)
    for call in (lambda: full.tags.add(job.id, "more"), lambda: full.tracking.add(job.id)):
        with pytest.raises(headrace.ServerUnavailable, match="maxmemory"):
            call()


def test_existing_jobs_can_be_delivered_and_finished(full: Client) -> None:
    queue = full.queue("mail")
    full.session("ada").renew()
    first, second, third, *others = queue.pop("ada", count=20)
    first.heartbeat()
    first.fail("broken", "why")
    second.release()
    third.complete("result")
    full.leases.complete(others)
    full.retry(first.id)
    full.tags.remove(first.id, "full")
    full.tracking.remove(first.id)
    full.cancel(first.id, second.id)
    full.sweep()
    assert queue.counts().length == 0
    assert full.audit().balanced
    queue.delete()


def test_nothing_more_is_published(full: Client) -> None:
    for name in ("news", "line"):
        with pytest.raises(headrace.ServerUnavailable, match="maxmemory"):
            full.feed(name).publish("one more")
    with pytest.raises(headrace.ServerUnavailable, match="maxmemory"):
        full.feeds.create("more")
    assert (full.feed("news").length(), full.feed("line").length()) == (3, 2)


def test_feeds_can_be_emptied(full: Client) -> None:
    news, line = full.feed("news"), full.feed("line")
    line.move("a", last=True)
    assert news.retract("a") == ["a"]
    news.configure(max_length=1)
    assert (news.ids(), line.ids()) == (["c"], ["b", "a"])
    news.delete()
    line.delete()
    assert full.feeds.list() == []
