"""The reader of each system: old keys, and the jobs that they become."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import pytest

from headrace import Client, ImportRefused, JobExists
from tests.compat.importing.support.installation import (
    LATER_QLESS,
    Installation,
    run_import,
    waiting,
)
from tests.proof import proves

LEAF = """
SADD feeds news
SET feed.config:news '{"type": "leaf", "max_length": 3, "about": "x"}'
LPUSH feed.ids:news 1 2 3
HSET feed.items:news 1 one 2 two 3 three
"""
JOBS = """
SADD feeds work
SET feed.config:work '{"type": "job"}'
LPUSH feed.ids:work w1 w2
LPUSH feed.running:work r2 r1
RPUSH feed.stalled:work s1 s2
HSET feed.items:work w1 1 w2 2 r1 3 r2 4 s1 5 s2 6
HSET feed.claimed:work r1 1417696237 r2 1417696300 s1 1417696001
HSET feed.cancelled:work w2 2 s1 1
"""
WORQR = """
LPUSH worqr:queues:mail t1 t2 t3
LPUSH worqr:processes:mail_7d3c1a running
SADD worqr:workingProcesses:mail mail_7d3c1a
SADD worqr:workers w1
SADD worqr:expiringWorkers w1
SET worqr:workerTimers:w1 RUN EX 3
SADD worqr:workingQueues:w1 mail
"""
WORQR_DOCUMENT = """
LPUSH Q1 T1 T2
LPUSH P1 T0
SADD W1_Q1 P1 P2
SADD Workers W1 W2
SET W1 RUN EX 3
SADD WorkMap_W1 Q1
SADD WorkMap_W2 Q1 Q2
SADD W2_Q1 P3
LPUSH P3 T9
LPUSH Q9 x
"""
REDIS_QUEUE = """
LPUSH tasks 123 124
LPUSH tasks 120|1417696300
LPUSH tasks 121|1417696237
LPUSH tasks 119|1417696200
SADD tasks:done 119 7
"""
QLESS_QUEUES = """
HSET app:j:x id x state waiting queue q data 1
HSET app:j:y id y state waiting queue other data 2
ZADD app:q:q-work 0 x
ZADD app:q:other-work 0 y
"""
WORK_JOBS = {("work", "running"): 2, ("work", "waiting"): 2, ("work", "stalled"): 2}


@dataclass(frozen=True)
class Case:
    """Old keys, and the counts, waiting payloads and left-out names that they become."""

    system: str
    keys: str
    counts: dict[tuple[str, str], int]
    waiting: dict[str, list[bytes]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    prefix: str | None = None
    queues: tuple[str, ...] = ()


def work_jobs(items: str, running: str) -> Case:
    """Jobs of thoonk whose keys for items and running jobs are spelled differently."""
    keys = JOBS.replace("feed.items:work", items).replace("feed.running:work", running)
    return Case("thoonk", keys, WORK_JOBS, {"work": [b"3", b"4", b"1", b"2"]})


CASES = {
    # The document of thoonk spells the roles of keys in several ways.
    "thoonk as written": work_jobs("feed.items:work", "feed.running:work"),
    "thoonk spelling 2": work_jobs("feed.items.work", "feed:jobrunning:work"),
    "thoonk spelling 3": work_jobs("feed:items:work", "feed.jobrunning:work"),
    "thoonk spelling 4": work_jobs("feed:itemswork", "feed.running:work"),
    "thoonk job lost between two steps": Case(
        "thoonk",
        JOBS.replace("LPUSH feed.running:work r2 r1", "HDEL feed.claimed:work r1 r2").replace(
            "r1 1417696237 r2 1417696300 ", ""
        ),
        WORK_JOBS,
        {"work": [b"3", b"4", b"1", b"2"]},
    ),
    "thoonk queue": Case(
        "thoonk",
        """
        SADD feeds line
        SET feed.config:line '{"type": "queue"}'
        LPUSH feed.ids:line 1 2 gone
        HSET feed.items:line 1 one 2 two taken x
        """,
        {("line", "waiting"): 2},
        {"line": [b"one", b"two"]},
        [
            "gone: an id of 'line' without an item",
            "taken: taken by a consumer of 'line'; the item remained",
        ],
    ),
    "thoonk config and counter without a meaning": Case(
        "thoonk",
        """
        SADD feeds odd work
        SET feed.config:odd 'no json'
        LPUSH feed.ids:odd 1
        HSET feed.items:odd 1 one
        SET feed.cancelled:work 3
        """,
        {("odd", "items"): 1},
        left_out=[
            "feed.config:odd: not a JSON object; the feed is imported without config",
            "odd: the config has no known type; the feed is imported as a leaf",
            "feed.cancelled:work: this cancel count is for all jobs together, not for each job",
        ],
    ),
    "thoonk chosen feed": Case(
        "thoonk", LEAF + JOBS, {("news", "items"): 3}, {"work": []}, queues=("news",)
    ),
    "worqr as written": Case(
        "worqr",
        WORQR,
        {("mail", "running"): 1, ("mail", "waiting"): 3},
        {"mail": [b"running", b"t1", b"t2", b"t3"]},
    ),
    "worqr prefix": Case(
        "worqr",
        WORQR.replace("worqr", "other"),
        {("mail", "running"): 1, ("mail", "waiting"): 3},
        {"mail": [b"running", b"t1", b"t2", b"t3"]},
        prefix="other",
    ),
    "worqr as in the document": Case(
        "worqr",
        WORQR_DOCUMENT,
        {("Q1", "running"): 2, ("Q1", "waiting"): 2},
        {"Q1": [b"T0", b"T9", b"T1", b"T2"], "Q2": []},
        ["Q9: no worker serves this list; if the list is a queue, use --queue"],
    ),
    "worqr chosen list": Case(
        "worqr", WORQR_DOCUMENT, {("Q9", "waiting"): 1}, {"Q9": [b"x"]}, queues=("Q9",)
    ),
    "worqr without tasks": Case(
        "worqr", "SADD worqr:workers w1\nSADD worqr:workingQueues:w1 mail", {}
    ),
    "redis-queue": Case(
        "redis-queue",
        REDIS_QUEUE,
        {("tasks", "running"): 2, ("tasks", "waiting"): 2},
        {"tasks": [b"121", b"120", b"123", b"124"]},
        ["119: already done in 'tasks'", "7: marked as done in 'tasks', but not in the queue"],
    ),
    "redis-queue mark of an id that was not popped": Case(
        "redis-queue", "LPUSH q 1\nSADD q:done 1", {("q", "waiting"): 1}, {"q": [b"1"]}
    ),
    "redis-queue odd ids": Case(
        "redis-queue",
        "LPUSH q a|b twice twice twice|1417696237 a||1417696237",
        {("q", "running"): 2, ("q", "waiting"): 1},
        {"q": [b"a|", b"twice", b"a|b"]},
        ["twice and 1 more: this id is twice in 'q'; imported as one job"],
    ),
    "redis-queue list without popped ids": Case(
        "redis-queue",
        "LPUSH seen 1|1417696237\nLPUSH new 1 2\nSET other x",
        {("seen", "running"): 1},
        left_out=["new: this list may not be a queue; if the list is a queue, use --queue"],
    ),
    "redis-queue chosen list": Case(
        "redis-queue",
        "LPUSH seen 1|1417696237\nLPUSH new 1 2\nSET other x",
        {("new", "waiting"): 2},
        {"new": [b"1", b"2"]},
        queues=("new",),
    ),
    "redis-queue prefix": Case(
        "redis-queue",
        "LPUSH app:q 1|1417696237\nLPUSH q 2|1417696237",
        {("q", "running"): 1},
        {"q": [b"1"]},
        prefix="app:",
    ),
    "qless prefix": Case(
        "qless", QLESS_QUEUES, {("q", "waiting"): 1, ("other", "waiting"): 1}, prefix="app"
    ),
    "qless chosen queue": Case(
        "qless", QLESS_QUEUES, {("q", "waiting"): 1}, {"other": []}, prefix="app", queues=("q",)
    ),
}


@proves("TD-01", "TD-03", "T-04", "T-31", "TD-10")
@proves("W-10", "W-45", "W-03", "WD-07", "W-13")
@proves("R-02", "R-15", "R-03", "RD-03", "R-11", "RD-04", "RD-05")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_keys_become_jobs(hr: Client, old: Installation, case: Case) -> None:
    old.write(case.keys)

    found = run_import(hr, old, case.system, case.prefix, *case.queues)

    assert found.plan.counts == case.counts
    assert found.result.imported == sum(case.counts.values())
    if case.left_out or not case.queues:
        assert found.plan.left_out == case.left_out
    assert {name: waiting(hr.queue(name)) for name in case.waiting} == case.waiting
    again = run_import(hr, old, case.system, case.prefix, *case.queues)
    assert again.result.imported == 0


@pytest.mark.parametrize(
    ("keys", "left_out"),
    [
        ("HSET ql:s:2026-01-01:q total 1 mean 1", "ql:s:2026-01-01:q: statistics are not imported"),
        (
            "HSET ql:config grace-period 10",
            "grace-period: Headrace has no setting for this option",
        ),
        ("ZADD ql:tracked 1 a 2 gone", "gone: tracked, but the job does not exist"),
        (
            "HSET ql:j:lost state depends queue q",
            "lost: in no queue; the state 'depends' is unknown",
        ),
        ("HSET ql:j:a tags {}x", "a: the tags are not valid; the job is imported without tags"),
        (
            "HSET ql:r:none data 1\nZADD ql:q:q-recur 1 none",
            "none: recurring job without an interval",
        ),
        ("HSET ql:r:unlisted interval 5", "ql:r:unlisted: unknown key"),
        ("SET ql:j:text x", "ql:j:text: unknown key"),
        ("HSET ql:th:gpu maximum 3", "ql:th:gpu: unknown key"),
    ],
)
def test_qless_keys_that_are_left_out_are_named(
    hr: Client, old: Installation, keys: str, left_out: str
) -> None:
    old.write(LATER_QLESS)
    old.write("RPUSH ql:j:a-history x\nHSET ql:config heartbeat 60\nZADD ql:tracked 1 a")
    old.write(keys)

    assert run_import(hr, old, "qless").plan.left_out == [left_out]


@pytest.mark.parametrize(
    ("system", "keys", "message"),
    [
        ("thoonk", "LPUSH feeds x", "has no data of thoonk: there is no set 'feeds'"),
        ("thoonk", "SET other x", "has no data of thoonk: there is no set 'feeds'"),
        ("thoonk", "", "has no data of thoonk: there is no set 'feeds'"),
        ("thoonk", "SADD feeds f\nSET feed.items:f x", "feed.items:f.*WRONGTYPE"),
        ("qless", "SET other x", "has no data of qless"),
        ("qless", "", "has no data of qless"),
        ("qless", "HSET ql:config heartbeat 60", "has no data of qless"),
        ("qless", "SET ql:q:q-work x", "ql:q:q-work.*WRONGTYPE"),
        ("qless", "ZADD ql:q:q-work 1 a\nSET ql:j:a x", "ql:j:a.*WRONGTYPE"),
        ("worqr", "SET other x", "has no data of worqr"),
        ("worqr", "LPUSH Q1 x", "has no data of worqr"),
        ("worqr", "SET worqr:queues:q x", "worqr:queues:q.*WRONGTYPE"),
        ("worqr", "LPUSH worqr:queues:a\0b x", "is not a valid queue name"),
        ("redis-queue", "SET other x", "has no data of redis-queue"),
        ("redis-queue", "LPUSH plain 1 2", "has no data of redis-queue"),
        ("redis-queue", "", "The server has no keys"),
        ("redis-queue", "SADD q:done 1\nSET q x", "WRONGTYPE"),
        ("redis-queue", "LPUSH q 1|1417696237\nHSET q:done a 1", "q:done.*WRONGTYPE"),
    ],
)
def test_source_without_readable_data_is_refused(
    hr: Client, old: Installation, system: str, keys: str, message: str
) -> None:
    old.write(keys)

    with pytest.raises(ImportRefused, match=message):
        run_import(hr, old, system)
    assert hr.queues() == {}


def test_chosen_queue_that_does_not_exist_is_refused(hr: Client, old: Installation) -> None:
    old.write(REDIS_QUEUE)

    with pytest.raises(ImportRefused, match="no queue 'mail'; its queues are: 'tasks'"):
        run_import(hr, old, "redis-queue", None, "mail")


@proves("R-02", "R-15")
def test_popped_id_of_redis_queue_keeps_its_id_and_attempt(hr: Client, old: Installation) -> None:
    old.write(REDIS_QUEUE)

    run_import(hr, old, "redis-queue")

    job = hr.job("121")
    assert job is not None
    assert (job.state, job.attempt) == ("waiting", 1)
    assert job.origin is not None
    assert job.origin.endswith(":tasks/121")
    assert hr.job("119") is None
    assert hr.queue("tasks").settings()["lease"] == 30


@proves("RL-01")
def test_message_of_redis_queue_is_the_data_of_its_job(hr: Client, old: Installation) -> None:
    old.write('LPUSH q:x a\nSADD q:x:done z\nSET q:x:data:a \'{"to": "ada"}\' EX 100')

    run_import(hr, old, "redis-queue")

    job = hr.job("a")
    assert job is not None
    assert job.data == {"to": "ada"}


@proves("RD-04")
def test_binary_id_of_redis_queue_is_imported_under_a_new_id(hr: Client, old: Installation) -> None:
    old.run("LPUSH", "q", b"\xff\x00", b"a|1417696237")

    run_import(hr, old, "redis-queue")

    assert waiting(hr.queue("q")) == [b"a", b"\xff\x00"]


@proves("W-06", "W-12", "W-16", "W-45")
def test_equal_and_binary_payloads_of_worqr_stay_unchanged(hr: Client, old: Installation) -> None:
    old.run("LPUSH", "worqr:queues:q", b"same", b"", b"same", b"\x00\xff", b"same")

    run_import(hr, old, "worqr")

    assert waiting(hr.queue("q")) == [b"same", b"", b"same", b"\x00\xff", b"same"]
    assert hr.queue("q").settings()["session"] == "required"


@proves("WL-01")
def test_unique_task_of_worqr_is_unique_here(hr: Client, old: Installation) -> None:
    digest = hashlib.md5(b'"one"', usedforsecurity=False).hexdigest()
    old.write(
        f"LPUSH worqr:queues:q '\"one\"' '\"one\"' '\"two\"'\nSET worqr:uniqueTasks:{digest} ' '"
    )

    run_import(hr, old, "worqr")

    queue = hr.queue("q")
    with pytest.raises(JobExists):
        queue.put("one", unique=True)
    queue.put("two", unique=True)
    assert [bool(job.unique) for job in queue.jobs("waiting").jobs] == [True, False, False, True]
