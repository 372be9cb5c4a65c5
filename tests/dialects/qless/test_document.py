"""The examples of the document, as they stand there."""

from __future__ import annotations

import json
import time
from typing import Any

from headrace import Client
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got

NOW = START.timestamp()


@proves("Q-70", "Q-72")
async def test_the_job_of_the_document(qless: Any, clock: Clock) -> None:
    """A job that was in test1, and is now with a worker in example."""
    data, tags = '{"hello": "how are you"}', '["testing", "experimental"]'
    worker, other = "ec2-1-4925", "ec2-1-2948"
    await got(qless.put("test1", "deadbeef", data, NOW, 0, tags))
    clock.tick(91)
    await got(qless.pop("test1", other, 1, NOW, NOW + 1000))
    clock.tick(700)
    assert await got(qless.complete("deadbeef", None, "example")) == "waiting"
    waiting = await got(qless.get("deadbeef"))
    assert (waiting["state"], waiting["queue"], waiting["worker"]) == ("waiting", "example", "")

    [job] = await got(qless.pop("example", worker, 1, NOW, NOW + 60))

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
async def test_locking_as_the_document_describes_it(qless: Any, clock: Clock) -> None:
    """Renewed while it is ours; once it is another's, false, and we yield."""
    await got(qless.put("example", "deadbeef", "{}", NOW))
    await got(qless.pop("example", "first", 1, NOW, NOW + 60))
    expiration = time.time() + 3600
    assert await got(qless.heartbeat("deadbeef", "first", expiration, '{"done": 0.5}')) > NOW
    assert json.loads((await got(qless.get("deadbeef")))["data"]) == {"done": 0.5}

    clock.tick(3600)
    [job] = await got(qless.pop("example", "second", 1, NOW, NOW + 60))

    assert job["worker"] == "second"
    assert await got(qless.heartbeat("deadbeef", "first", expiration, "{}")) is False
    assert await got(qless.complete("deadbeef")) == "complete"


@proves("Q-91")
async def test_the_statistics_of_the_document(qless: Any, clock: Clock) -> None:
    """For each of the two times: total, mean, variance and a histogram that is a list."""
    await got(qless.put("example", "deadbeef", "{}", NOW))
    clock.tick(3)
    await got(qless.pop("example", "worker", 1, NOW, NOW + 60))
    clock.tick(75)
    await got(qless.complete("deadbeef"))

    found = await got(qless.stats("example", "2026-01-01"))

    for name, seconds, place in (("wait", 3, 3), ("run", 75, 60)):
        series = found[name]
        assert (series["total"], series["mean"], series["variance"]) == (1, seconds, 0)
        assert isinstance(series["histogram"], list)
        assert series["histogram"][place] == 1


@proves("Q-81")
async def test_the_failures_of_the_document(qless: Any) -> None:
    """Two types; under the first of them, deadbeef."""
    for name, kind in (("deadbeef", "upload error"), ("cafe", "widget failure")):
        await got(qless.put("example", name, "{}", NOW))
        await got(qless.pop("example", "worker", 1, NOW, NOW + 60))
        await got(qless.fail(name, kind, "a traceback", NOW))

    assert sorted(await got(qless.failed())) == ["upload error", "widget failure"]
    assert [job["id"] for job in (await got(qless.failed("upload error")))["jobs"]] == ["deadbeef"]


@proves("Q-06", "Q-08")
async def test_the_configuration_of_the_document(qless: Any) -> None:
    """Five options with their defaults."""
    found = await got(qless.get_config())

    assert {option: found[option] for option in found if option != "max-job-history"} == {
        "heartbeat": 60,
        "stats-history": 30,
        "histogram-history": 7,
        "jobs-history-count": 50_000,
        "jobs-history": 7,
    }


@proves("Q-37")
async def test_a_queue_as_the_document_describes_it(qless: Any, clock: Clock, hr: Client) -> None:
    """First the next expired lock; then what is scheduled for a time in the past is work."""
    await got(qless.put("example", "locked", "{}", NOW, 9))
    await got(qless.pop("example", "worker", 1, NOW, NOW + 5))
    await got(qless.put("example", "scheduled", "{}", NOW, -9, "[]", 5))
    await got(qless.put("example", "work", "{}", NOW, -5))
    clock.tick(5)

    popped = await got(qless.pop("example", "worker", 9, NOW, NOW + 60))

    assert [job["id"] for job in popped] == ["locked", "scheduled", "work"]
    assert hr.audit().balanced
