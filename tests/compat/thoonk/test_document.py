"""The document of thoonk, operation by operation."""

from __future__ import annotations

from typing import Any

from headrace import Client
from headrace.compat.thoonk import (
    Empty,
    FeedDoesNotExist,
    FeedExists,
    ItemDoesNotExist,
    JobDoesNotExist,
    JobNotPending,
    Thoonk,
)
from headrace.testing import Clock
from tests.compat.thoonk.support.recorded import all_of
from tests.compat.thoonk.support.steps import begun, keys, tried
from tests.proof import proves
from tests.support.dump import dump


@proves("T-01", "T-02", "T-03", "T-04")
def test_create_feed_set_config_delete_feed(listening: Any, hr: Client) -> None:
    notices = all_of(listening)
    other = Thoonk(hr)

    # create_feed: sadd feeds [feed] //if fail, abort; publish newfeed [feed]\x00[instance uuid]
    other.create_feed("news")
    tried(FeedExists, other.create_feed, "news")
    assert other.get_feeds() == {"news"}
    # set_config: set feed.config:[feed] //json(config); publish conffeed [feed]\x00[instance uuid]
    other.set_config("news", {"type": "leaf", "title": "Bread"})
    assert other.get_config("news") == {"type": "leaf", "title": "Bread"}
    # delete_feed: srem feeds [feed]; delete every key; publish delfeed [feed]\x00[instance uuid]
    other.delete_feed("news")
    assert keys(hr) <= {"feeds"}
    tried(FeedDoesNotExist, other.delete_feed, "news")

    assert notices.next(3) == [("create", "news"), ("config", "news"), ("delete", "news")]


@proves("T-10", "T-12", "T-13", "T-14", "T-15", "T-16", "T-17", "T-18")
def test_leaf(listening: Any, hr: Client) -> None:
    notices = all_of(listening)
    leaf = Thoonk(hr).leaf("news")

    # publish: generating id case or id not a key: lpush feed.ids:[feed] [id]; hset feed.items
    first = leaf.publish("one")
    assert leaf.publish("two", "mine") == "mine"
    # publish: in any case hset feed.items:[feed] [id] [item]; publish feed.publish:[feed]
    leaf.publish("three", first)
    # get_ids: lrange feed.ids:[feed] 0 -1
    assert leaf.get_ids() == ["mine", first]
    # get_item: hget feed.items:[feed] [id]
    assert [leaf.get_item(one) for one in ("mine", first, "bogus")] == ["two", "three", None]
    # retract: hexists //abort if it doesn't; lrem; hdel; publish feed.retract:[feed] [id]
    tried(ItemDoesNotExist, leaf.retract, "bogus")
    leaf.retract("mine")
    assert leaf.get_all() == {first: "three"}

    assert notices.next(5) == [
        ("create", "news"),
        ("publish", "news", "one", first),
        ("publish", "news", "two", "mine"),
        ("edit", "news", "three", first),
        ("retract", "news", "mine"),
    ]


@proves("T-30", "T-31", "T-32", "T-33", "T-34")
def test_queue(thoonk: Any, hr: Client) -> None:
    queue = thoonk.queue("mail")

    # publish/put: id = generated uuid; lpush feed.ids:[feed] [id]; hset feed.items:[feed] [id]
    put = [queue.publish("one"), queue.put("two")]
    assert queue.get_ids() == put[::-1]
    # get: brpop feed.ids:[feed] [timeout]; hget; hdel
    assert [queue.get(1), queue.get(0)] == ["one", "two"]
    assert queue.get_all() == {}
    # get: //if error, abort
    before = dump(hr)
    tried(Empty, queue.get, 0.01)
    assert dump(hr) == before


@proves("T-40", "T-41", "T-42", "T-43", "T-44", "T-45", "T-47", "T-48")
def test_job_put_get_finish_get_result(thoonk: Any, clock: Clock) -> None:
    job = thoonk.job("steps")

    # publish/put: same as Queue
    put = [job.publish("one"), job.put("two")]
    # get: brpoplpush feed.ids:[feed] feed.running:[feed] [timeout]; hset feed.claimed [epoch]
    assert [(job.get(1))[:2], (job.get())[:2]] == [
        (put[0], "one"),
        (put[1], "two"),
    ]
    assert job.get_claimed() == dict.fromkeys(put, clock.now)
    # get: //if error/timeout, abort
    tried(Empty, job.get, 0.01)
    # finish: lrem feed.running; hdel feed.claimed; hdel feed.cancelled; hdel feed.items
    job.finish(put[0])
    assert job.get_all() == {put[1]: "two"}
    # finish: //optionally if publishing a result: rpush feed.jobfinished [item]\x00[result]
    # get_result: blpop feed:jobfinished:[feed]:[id] [timeout]
    asking = begun(job.get_result, put[1], 20)
    job.finish(put[1], "result")
    assert asking.result(20) == ("two", "result")
    tried(Empty, job.get_result, put[1], 0.01)
    assert job.get_all() == {}


@proves("T-50", "T-51", "T-53", "T-54", "T-55", "T-56")
def test_job_cancel_stall_retry(thoonk: Any) -> None:
    job = thoonk.job("steps")
    one, other = job.put("one"), job.put("other")

    # cancel: //if fail, abort
    tried(JobNotPending, job.cancel, one)
    # cancel: //cancel a running job, will get retried: incr feed.cancelled; lpush feed.ids
    job.get(1)
    job.cancel(one)
    assert job.get_ids() == [one, other]
    assert [job.get(1), job.get(1)] == [(other, "other", 0), (one, "one", 1)]
    # stall: //fail a running job and take it out of the running, but don't delete
    job.stall(one)
    assert job.get_stalled() == [one]
    assert job.get_running() == [other]
    assert job.get_item(one) == "one"
    # stall: //if fail, abort
    tried(JobDoesNotExist, job.stall, one)
    # retry: //if error, abort
    tried(JobDoesNotExist, job.retry, other)
    # retry: //retry a stalled job: lrem feed.stalled; hdel feed.cancelled; lpush feed.ids
    job.retry(one)
    assert job.get_stalled() == []
    assert job.get(1) == (one, "one", 0)
