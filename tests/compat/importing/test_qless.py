"""Jobs, queues, failures and options of qless in detail, of its document and of later versions."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from headrace import Client, ImportRefused
from headrace.testing import START
from tests.compat.importing.support.installation import Installation, run_import
from tests.proof import proves
from tests.support.jobs import found as job_of

NOW = int(START.timestamp())
DAY = 86_400
YESTERDAY = NOW - DAY


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def write_job(old: Installation, job_id: str, **fields: object) -> None:
    """Write a job hash as in the document."""
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
    old.run("HSET", f"ql:j:{job_id}", *pairs)


def write_queue(old: Installation) -> None:
    """Write a queue with a job in every part."""
    write_job(old, "b", tags='["testing", "vip"]')
    write_job(old, "a")
    write_job(old, "soon", priority=-5)
    write_job(
        old,
        "held",
        worker="ec2-4925",
        state="running",
        expires=NOW + 60,
        history=f'[["test1", {NOW - 50}, {NOW - 40}, {NOW - 30}, "w0"],'
        f' ["example", {NOW - 30}, {NOW - 20}, null, "ec2-4925"]]',
    )
    write_job(old, "later")
    old.write(f"""
        ZADD ql:q:example-work 0 b 0 a -5 soon
        ZADD ql:q:example-locks {NOW + 60} held
        ZADD ql:q:example-scheduled {NOW + 300}.5 later
    """)


@proves("Q-85", "Q-70", "Q-29", "Q-72")
def test_queue_is_imported_with_its_three_parts(hr: Client, old: Installation) -> None:
    write_queue(old)

    found = run_import(hr, old, "qless")

    assert found.plan.counts == {
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
def test_failed_jobs_keep_type_message_and_time(
    hr: Client, old: Installation, registry: str
) -> None:
    times = f'"put": {NOW - 9}, "popped": {NOW - 8}, "failed": {NOW - 7}'
    history = f'[{{"q": "example", {times}, "worker": "w"}}]'
    why = f'{{"type": "upload error", "message": "no room", "when": {NOW - 7}, "worker": "w"}}'
    write_job(old, "deadbeef", state="failed", history=history, failure=why)
    write_job(old, "bare", state="failed")
    write_job(old, "odd", state="failed", failure="no json", queue="")
    old.write(f"""
        SADD {registry} 'upload error' complete
        LPUSH 'ql:f:upload error' deadbeef bare gone
        LPUSH ql:f:complete odd
    """)

    found = run_import(hr, old, "qless")

    assert found.plan.counts == {("example", "failed"): 3}
    assert found.plan.left_out == ["gone: listed as failed, but the job does not exist"]
    job = job_of(hr, "deadbeef")
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("upload error", "no room")
    assert (job.failure.at, job.failure.worker) == (at(NOW - 7), "w")
    [stage] = job.history
    assert (stage.outcome, stage.failure, stage.ended) == ("failed", "upload error", at(NOW - 7))
    assert hr.failures.counts() == {"upload error": 2, "complete": 1}
    hr.retry("deadbeef")
    assert job_of(hr, "deadbeef").state == "waiting"


@proves("Q-63", "Q-67", "Q-15", "Q-26")
def test_completed_jobs_are_imported_within_their_retention(hr: Client, old: Installation) -> None:
    done = f'[["example", {NOW - 50}, {NOW - 40}, {NOW - 30}, "w"]]'
    write_job(old, "done", state="complete", queue="null", history=done)
    write_job(old, "unlisted", state="complete", queue="", history=done)
    write_job(old, "old", state="complete", queue="", history='[["example", 1, 2, 3, "w"]]')
    write_job(old, "bare", state="complete", queue="null", history="[]")
    write_job(old, "again")
    old.write(f"""
        ZADD ql:completed {NOW - 30} done 3 old {NOW - 5} bare {NOW - 9} again
        ZADD ql:q:example-work 0 again
    """)

    found = run_import(hr, old, "qless")

    assert found.plan.counts == {
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
    assert found.check.changed == 1


@proves("Q-06", "Q-10", "QD-04", "QL-19", "QL-20")
def test_options_become_settings_unless_they_are_set_here(hr: Client, old: Installation) -> None:
    write_queue(old)
    hr.config.set("stats_age", 5 * DAY)
    old.write("""
        HSET ql:config heartbeat 90 jobs-history 3 jobs-history-count 100 stats-history 9
        HSET ql:config example-heartbeat 30 example-max-concurrency 4
        HSET ql:config grace-period 10 histogram-history x
        SADD ql:paused_queues example
    """)

    found = run_import(hr, old, "qless")

    config = hr.config.get()
    assert (config["lease"], config["keep_age"], config["keep_count"]) == (90, 3 * DAY, 100)
    assert config["stats_age"] == 5 * DAY
    own = hr.queue("example").settings()
    assert (own["lease"], own["concurrency"], own["paused"]) == (30, 4, True)
    assert found.plan.left_out == [
        "grace-period: Headrace has no setting for this option",
        "histogram-history: the value of this option is not a valid number",
    ]


def write_later(
    old: Installation, job_id: str, *entries: dict[str, object], **fields: object
) -> None:
    """Write a job as later versions do."""
    more = {"jid": job_id, "klass": "mail.Send", "retries": 5, "remaining": 4, **fields}
    write_job(old, job_id, **more)
    old.run("HDEL", f"ql:j:{job_id}", "history", "id")
    for entry in entries:
        old.run("RPUSH", f"ql:j:{job_id}-history", msgspec.msgpack.encode(entry))


@proves("QL-24", "QL-03", "QL-11", "QL-12")
def test_priorities_of_later_versions_are_reversed(hr: Client, old: Installation) -> None:
    put = {"what": "put", "when": NOW - 50, "q": "example"}
    popped = {"what": "popped", "when": NOW - 40, "worker": "w"}
    again = {"what": "popped", "when": NOW - 20, "worker": "v"}
    write_later(old, "high", put, priority=9)
    write_later(old, "low", put, popped, again, priority=1, data="[1]")
    write_later(old, "child", put, state="depends")
    write_later(old, "grandchild", put, state="depends")
    old.write(f"""
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

    found = run_import(hr, old, "qless")

    assert found.plan.counts == {
        ("example", "waiting"): 2,
        ("example", "depends"): 2,
        ("example", "recurring"): 1,
    }
    assert found.plan.left_out == ["odd: recurring job without an interval"]
    daily = hr.schedules.get("each-day")
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


def test_jobs_that_depend_on_each_other_are_refused(hr: Client, old: Installation) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        write_later(old, one, state="depends")
        old.write(f"ZADD ql:q:example-depends 1 {one}\nSADD ql:j:{one}-dependencies {other}")

    with pytest.raises(ImportRefused, match="depends on itself"):
        run_import(hr, old, "qless")


def test_invalid_fields_get_defaults(hr: Client, old: Installation) -> None:
    write_job(old, "odd", priority="high", tags='{"no": "list"}', history="x", data="not json")
    write_job(old, "lost", state="waiting")
    write_job(old, "unknown", state="who knows")
    old.write("ZADD ql:q:example-work 0 odd 1 gone")

    found = run_import(hr, old, "qless")

    assert found.plan.counts == {("example", "waiting"): 2}
    assert found.plan.left_out == [
        "lost: in no queue, with state 'waiting'; the job is imported",
        "unknown: in no queue; the state 'who knows' is unknown",
        "gone: listed as waiting, but the job does not exist",
        "odd: the priority is not a number; the job is imported with priority 0",
        "odd: the tags are not valid; the job is imported without tags",
    ]
    assert job_of(hr, "odd").payload == b"not json"
