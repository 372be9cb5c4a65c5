"""The examples of the qless document."""

from __future__ import annotations

import json
import time
from typing import Any

from headrace import Client
from headrace.testing import START, Clock
from tests.proof import proves

NOW = START.timestamp()


@proves("Q-70", "Q-72")
def test_job_example_of_the_document(qless: Any, clock: Clock) -> None:
    """The job was in queue test1 and is now running in queue example."""
    data, tags = '{"hello": "how are you"}', '["testing", "experimental"]'
    worker, other = "ec2-1-4925", "ec2-1-2948"
    qless.put("test1", "deadbeef", data, NOW, 0, tags)
    clock.tick(91)
    qless.pop("test1", other, 1, NOW, NOW + 1000)
    clock.tick(700)
    assert qless.complete("deadbeef", None, "example") == "waiting"
    waiting = qless.get("deadbeef")
    assert (waiting["state"], waiting["queue"], waiting["worker"]) == ("waiting", "example", "")

    [job] = qless.pop("example", worker, 1, NOW, NOW + 60)

    assert job.pop("data") == json.dumps(json.loads(data), separators=(",", ":"))
    assert json.loads(job.pop("tags")) == json.loads(tags)
    assert job == {
        "id": "deadbeef",
        "priority": 0,
        "worker": worker,
        "expires": NOW + 791 + 60,
        "state": "running",
        "queue": "example",
        "history": [
            ["test1", NOW, NOW + 91, NOW + 791, other],
            ["example", NOW + 791, NOW + 791, None, worker],
        ],
    }


@proves("Q-51", "Q-52", "Q-54")
def test_locking_example_of_the_document(qless: Any, clock: Clock) -> None:
    """The holder can renew its lock; after another worker took the job, renewal returns False."""
    qless.put("example", "deadbeef", "{}", NOW)
    qless.pop("example", "first", 1, NOW, NOW + 60)
    expiration = time.time() + 3600
    assert qless.heartbeat("deadbeef", "first", expiration, '{"done": 0.5}') > NOW
    assert json.loads((qless.get("deadbeef"))["data"]) == {"done": 0.5}

    clock.tick(3600)
    [job] = qless.pop("example", "second", 1, NOW, NOW + 60)

    assert job["worker"] == "second"
    assert qless.heartbeat("deadbeef", "first", expiration, "{}") is False
    assert qless.complete("deadbeef") == "complete"


@proves("Q-91")
def test_statistics_example_of_the_document(qless: Any, clock: Clock) -> None:
    """Both series have total, mean, variance and a histogram, which is a list."""
    qless.put("example", "deadbeef", "{}", NOW)
    clock.tick(3)
    qless.pop("example", "worker", 1, NOW, NOW + 60)
    clock.tick(75)
    qless.complete("deadbeef")

    found = qless.stats("example", "2026-01-01")

    for name, seconds, place in (("wait", 3, 3), ("run", 75, 60)):
        series = found[name]
        assert (series["total"], series["mean"], series["variance"]) == (1, seconds, 0)
        assert isinstance(series["histogram"], list)
        assert series["histogram"][place] == 1


@proves("Q-81")
def test_failures_example_of_the_document(qless: Any) -> None:
    """There are two failure types; the first one has the job deadbeef."""
    for name, kind in (("deadbeef", "upload error"), ("cafe", "widget failure")):
        qless.put("example", name, "{}", NOW)
        qless.pop("example", "worker", 1, NOW, NOW + 60)
        qless.fail(name, kind, "a traceback", NOW)

    assert sorted(qless.failed()) == ["upload error", "widget failure"]
    assert [job["id"] for job in (qless.failed("upload error"))["jobs"]] == ["deadbeef"]


@proves("Q-06", "Q-08")
def test_configuration_example_of_the_document(qless: Any) -> None:
    """The document lists five options with their defaults."""
    found = qless.get_config()

    assert {option: found[option] for option in found if not option.startswith("max-")} == {
        "heartbeat": 60,
        "stats-history": 30,
        "histogram-history": 7,
        "jobs-history-count": 50_000,
        "jobs-history": 7,
    }


@proves("Q-37")
def test_queue_example_of_the_document(qless: Any, clock: Clock, hr: Client) -> None:
    """Pop returns expired locks first, then scheduled jobs that are due."""
    qless.put("example", "locked", "{}", NOW, 9)
    qless.pop("example", "worker", 1, NOW, NOW + 5)
    qless.put("example", "scheduled", "{}", NOW, -9, "[]", 5)
    qless.put("example", "work", "{}", NOW, -5)
    clock.tick(5)

    popped = qless.pop("example", "worker", 9, NOW, NOW + 60)

    assert [job["id"] for job in popped] == ["locked", "scheduled", "work"]
    assert hr.audit().balanced
