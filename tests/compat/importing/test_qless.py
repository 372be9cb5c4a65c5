"""qless: jobs as hashes, queues in three parts, failures, statistics; of the document and later."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from headrace import Client, ImportRefused
from headrace.testing import START
from tests.compat.importing.old import Old, imported
from tests.engine.shortcuts import found as job_of
from tests.proof import proves

NOW = int(START.timestamp())
DAY = 86_400
YESTERDAY = NOW - DAY


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def lay_job(old: Old, job_id: str, **fields: object) -> None:
    """A job hash as the document has it."""
    whole = {
        "id": job_id,
        "priority": 0,
        "data": '{"hello": "how are you"}',
        "tags": "[]",
        "worker": "",
        "expires": 0,
        "state": "waiting",
        "queue": "example",
        "history": f'[["example", {YESTERDAY}, null, null, null]]',
        **fields,
    }
    pairs = (str(word) for pair in whole.items() for word in pair)
    old.say("HSET", f"ql:j:{job_id}", *pairs)


def lay_queue(old: Old) -> None:
    """A queue with a job in every part."""
    lay_job(old, "b", tags='["testing", "vip"]')
    lay_job(old, "a")
    lay_job(old, "soon", priority=-5)
    lay_job(
        old,
        "held",
        worker="ec2-4925",
        state="running",
        expires=NOW + 60,
        history=f'[["test1", {NOW - 50}, {NOW - 40}, {NOW - 30}, "w0"],'
        f' ["example", {NOW - 30}, {NOW - 20}, null, "ec2-4925"]]',
    )
    lay_job(old, "later")
    old.lay(f"""
        ZADD ql:q:example-work 0 b 0 a -5 soon
        ZADD ql:q:example-locks {NOW + 60} held
        ZADD ql:q:example-scheduled {NOW + 300}.5 later
    """)


@proves("Q-85", "Q-70", "Q-29", "Q-72")
def test_a_queue_comes_with_its_three_parts(hr: Client, old: Old) -> None:
    lay_queue(old)

    found = imported(hr, old, "qless")

    assert found.counts == {
        ("example", "running"): 1,
        ("example", "waiting"): 3,
        ("example", "scheduled"): 1,
    }
    example = hr.queue("example")
    assert [job.id for job in example.jobs("waiting").jobs] == ["soon", "held", "a", "b"]
    b = job_of(hr, "b")
    assert (b.data, b.tags, b.put_at) == (
        {"hello": "how are you"},
        ["testing", "vip"],
        at(YESTERDAY),
    )
    assert job_of(hr, "soon").priority == -5
    assert job_of(hr, "later").due == at(NOW + 300.5)
    held = job_of(hr, "held")
    assert held.attempt == 2
    first = held.history[0]
    assert (first.queue, first.put, first.popped, first.ended) == (
        "test1",
        at(NOW - 50),
        at(NOW - 40),
        at(NOW - 30),
    )
    assert (first.worker, first.outcome) == ("w0", "completed")
    assert (held.origin or "").endswith(":held")


@proves("Q-81", "Q-80", "QD-07")
@pytest.mark.parametrize("registry", ["ql:failures", "ql:failures:"])
def test_failed_jobs_keep_their_type_message_and_time(hr: Client, old: Old, registry: str) -> None:
    times = f'"put": {NOW - 9}, "popped": {NOW - 8}, "failed": {NOW - 7}'
    history = f'[{{"q": "example", {times}, "worker": "w"}}]'
    why = f'{{"type": "upload error", "message": "no room", "when": {NOW - 7}, "worker": "w"}}'
    lay_job(old, "deadbeef", state="failed", history=history, failure=why)
    lay_job(old, "bare", state="failed")
    lay_job(old, "odd", state="failed", failure="no json", queue="")
    old.lay(f"""
        SADD {registry} 'upload error' complete
        LPUSH 'ql:f:upload error' deadbeef bare gone
        LPUSH ql:f:complete odd
    """)

    found = imported(hr, old, "qless")

    assert found.counts == {("example", "failed"): 3}
    assert found.plan.left_out == ["gone: listed as failed, but there is no such job"]
    job = job_of(hr, "deadbeef")
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("upload error", "no room")
    assert (job.failure.at, job.failure.worker) == (at(NOW - 7), "w")
    [stage] = job.history
    assert (stage.outcome, stage.failure, stage.ended) == ("failed", "upload error", at(NOW - 7))
    assert hr.failures() == {"upload error": 2, "complete": 1}
    hr.retry("deadbeef")
    assert job_of(hr, "deadbeef").state == "waiting"


@proves("Q-63", "Q-67", "Q-15", "Q-26")
def test_completed_jobs_come_as_long_as_they_are_kept(hr: Client, old: Old) -> None:
    done = f'[["example", {NOW - 50}, {NOW - 40}, {NOW - 30}, "w"]]'
    lay_job(old, "done", state="complete", queue="null", history=done)
    lay_job(old, "unlisted", state="complete", queue="", history=done)
    lay_job(old, "old", state="complete", queue="", history='[["example", 1, 2, 3, "w"]]')
    lay_job(old, "bare", state="complete", queue="null", history="[]")
    lay_job(old, "again")
    old.lay(f"""
        ZADD ql:completed {NOW - 30} done 3 old {NOW - 5} bare {NOW - 9} again
        ZADD ql:q:example-work 0 again
    """)

    found = imported(hr, old, "qless")

    assert found.counts == {
        ("example", "complete"): 3,
        ("imported", "complete"): 1,
        ("example", "waiting"): 1,
    }
    job = job_of(hr, "done")
    [stage] = job.history
    assert (job.state, stage.queue, stage.worker) == ("complete", "example", "w")
    assert (stage.put, stage.popped, stage.ended) == (at(NOW - 50), at(NOW - 40), at(NOW - 30))
    assert hr.job("old") is None
    assert job_of(hr, "bare").history[-1].ended == at(NOW - 5)
    assert job_of(hr, "again").state == "waiting"
    assert hr.queue("example").counts().complete == 2
    assert found.verified.moved_on == 1


@proves("Q-98", "Q-92", "Q-96", "QD-03", "QD-02")
def test_statistics_come_to_the_days_they_are_of(hr: Client, old: Old) -> None:
    day = at(YESTERDAY).date()
    lay_job(old, "a")
    old.lay(f"""
        ZADD ql:q:example-work 0 a
        HSET ql:s:wait:{YESTERDAY}:example total 5 mean 10.5 vk 8 s0 1 s59 1 m2 1 h2 1
        HSET ql:s:run:{YESTERDAY}:example total 2 mean 3 vk 2 s2 1 s4 1
        HSET ql:s:stats:{YESTERDAY}:example failures 4 retries 3 failed 1
        HSET ql:s:2026-01-01:drawn total 4 mean 5000 vk 0 5m9 1 15m4 1 h25 1 d4 1
        HSET ql:s:2026-01-01:example:vip total 1 mean 1 vk 0 s1 1
        HSET ql:s:wait:{YESTERDAY}:odd total many mean 1
        HSET ql:s:nothing x 1
    """)

    found = imported(hr, old, "qless")

    stats = hr.queue("example").stats(day)
    assert (stats.wait.count, stats.wait.mean, stats.wait.variance) == (5, 10.5, 2.0)
    assert dict(stats.wait.bins) == {"s0": 1, "s59": 1, "m2": 1, "q8": 1, "d7": 1}
    assert (stats.run.count, stats.failures, stats.retries) == (2, 4, 3)
    drawn = hr.queue("drawn").stats("2026-01-01").run
    assert dict(drawn.bins) == {"q9": 1, "q4": 1, "h25": 1, "d4": 1}
    assert [line.partition(": ")[0] for line in found.plan.left_out] == [
        "ql:s:2026-01-01:example:vip",
        "ql:s:nothing",
        f"ql:s:wait:{YESTERDAY}:odd",
    ]
    imported(hr, old, "qless")
    assert hr.queue("example").stats(day).wait.count == 5


@proves("Q-06", "Q-10", "QD-04", "QL-19", "QL-20")
def test_options_become_settings_unless_somebody_has_chosen(hr: Client, old: Old) -> None:
    lay_queue(old)
    hr.config.set("stats_age", 5 * DAY)
    old.lay("""
        HSET ql:config heartbeat 90 jobs-history 3 jobs-history-count 100 stats-history 9
        HSET ql:config example-heartbeat 30 example-max-concurrency 4
        HSET ql:config grace-period 10 histogram-history x
        SADD ql:paused_queues example
    """)

    found = imported(hr, old, "qless")

    config = hr.config.get()
    assert (config["lease"], config["keep_age"], config["keep_count"]) == (90, 3 * DAY, 100)
    assert config["stats_age"] == 5 * DAY
    own = hr.queue("example").settings()
    assert (own["lease"], own["concurrency"], own["paused"]) == (30, 4, True)
    assert found.plan.left_out == [
        "grace-period: this option has no counterpart here",
        "histogram-history: this option is no number that it can be",
    ]


def lay_later(old: Old, job_id: str, *entries: dict[str, object], **fields: object) -> None:
    """A job as later versions write it."""
    more = {"jid": job_id, "klass": "mail.Send", "retries": 5, "remaining": 4, **fields}
    lay_job(old, job_id, **more)
    old.say("HDEL", f"ql:j:{job_id}", "history", "id")
    for entry in entries:
        old.say("RPUSH", f"ql:j:{job_id}-history", msgspec.msgpack.encode(entry))


@proves("QL-24", "QL-03", "QL-11", "QL-12")
def test_jobs_of_later_versions_are_turned_round(hr: Client, old: Old) -> None:
    put = {"what": "put", "when": NOW - 50, "q": "example"}
    popped = {"what": "popped", "when": NOW - 40, "worker": "w"}
    again = {"what": "popped", "when": NOW - 20, "worker": "v"}
    lay_later(old, "high", put, priority=9)
    lay_later(old, "low", put, popped, again, priority=1, data="[1]")
    lay_later(old, "child", put, state="depends")
    lay_later(old, "grandchild", put, state="depends")
    old.lay(f"""
        ZADD ql:queues {NOW} example
        ZADD ql:q:example-work 8.8 high 0.8 low
        ZADD ql:q:example-depends {NOW} grandchild {NOW} child
        SADD ql:j:child-dependencies high
        SADD ql:j:grandchild-dependencies child
        SADD ql:j:high-dependents child
        HSET ql:config jobs-history 604800
        ZADD ql:q:example-recur {NOW + 60} each-day 1 odd
        HSET ql:r:each-day klass k data {{}} interval 86400 backlog 2 priority 3 tags []
    """)

    found = imported(hr, old, "qless")

    assert found.counts == {
        ("example", "waiting"): 2,
        ("example", "depends"): 2,
        ("example", "recurring"): 1,
    }
    assert found.plan.left_out == ["odd: recurs, but does not say in which interval"]
    daily = hr.schedule("each-day")
    assert daily is not None
    assert (daily.every, daily.next, daily.backlog) == (DAY, at(NOW + 60), 2)
    assert daily.data == {"task": "k", "args": {}}
    high, low = job_of(hr, "high"), job_of(hr, "low")
    assert high.data == {"task": "mail.Send", "args": {"hello": "how are you"}}
    assert low.data == {"task": "mail.Send", "args": {"data": [1]}}
    assert (high.priority, low.priority, high.retries, high.remaining) == (-9, -1, 5, 4)
    assert (low.attempt, [stage.worker for stage in low.history]) == (2, ["w", ""])
    assert [job.id for job in hr.queue("example").jobs("waiting").jobs] == ["high", "low"]
    assert job_of(hr, "child").depends_on == ["high"]
    assert job_of(hr, "grandchild").depends_on == ["child"]
    assert hr.config.get("keep_age") == 7 * DAY


def test_jobs_that_wait_for_each_other_are_refused(hr: Client, old: Old) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        lay_later(old, one, state="depends")
        old.lay(f"ZADD ql:q:example-depends 1 {one}\nSADD ql:j:{one}-dependencies {other}")

    with pytest.raises(ImportRefused, match="depends on itself"):
        imported(hr, old, "qless")


def test_what_is_odd_comes_as_far_as_it_can(hr: Client, old: Old) -> None:
    lay_job(old, "odd", priority="high", tags='{"no": "list"}', history="x", data="not json")
    lay_job(old, "lost", state="waiting")
    lay_job(old, "unknown", state="who knows")
    old.lay("ZADD ql:q:example-work 0 odd 1 gone")

    found = imported(hr, old, "qless")

    assert found.counts == {("example", "waiting"): 2}
    assert found.plan.left_out == [
        "odd: its priority is no number; here it has 0",
        "odd: its tags cannot be tags here; it has none",
        "gone: listed as waiting, but there is no such job",
        "lost: says 'waiting', but no queue has it; it comes all the same",
        "unknown: says 'who knows', and no queue has it; it stays there",
    ]
    assert job_of(hr, "odd").payload == b"not json"


def test_only_some_queues_are_brought(hr: Client, old: Old) -> None:
    lay_queue(old)
    lay_job(old, "other", queue="second")
    old.lay("ZADD ql:q:second-work 0 other")

    assert imported(hr, old, "qless", None, "second").counts == {("second", "waiting"): 1}
    assert hr.job("a") is None


def test_keys_may_begin_otherwise(hr: Client, old: Old) -> None:
    old.lay("HSET app:j:x id x state waiting queue q data 1\nZADD app:q:q-work 0 x")

    assert imported(hr, old, "qless", "app").counts == {("q", "waiting"): 1}


@pytest.mark.parametrize("keys", ["SET other x", "", "HSET ql:config heartbeat 60"])
def test_what_is_no_qless_is_refused(hr: Client, old: Old, keys: str) -> None:
    old.lay(keys)

    with pytest.raises(ImportRefused, match="has nothing of qless"):
        imported(hr, old, "qless")
