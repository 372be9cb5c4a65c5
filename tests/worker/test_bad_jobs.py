"""Jobs that cannot be read, run or acknowledged fail with a helpful message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis

import headrace
from headrace import Job
from tests.worker.support.site import Site, site_on

LARGE = 10_000_000

MALFORMED: dict[str, bytes] = {
    "not JSON": b"hello {",
    "nothing": b"",
    "not UTF-8": b"\xff\xfe\x00",
    "a number": b"17",
    "a list": b'["quick"]',
    "null": b"null",
    "no task": b'{"args": {}}',
    "a task that is no text": b'{"task": ["quick"], "args": {}}',
    "arguments in a list": b'{"task": "double", "args": [1]}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep arguments": b'{"task": "double", "args": {"number": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "a timeout that is none": b'{"task": "quick", "args": {}, "timeout": "soon"}',
    "a negative timeout": b'{"task": "quick", "args": {}, "timeout": -1}',
    "an endless timeout": b'{"task": "quick", "args": {}, "timeout": 1e308}',
    "a backoff that is none": b'{"task": "fails", "args": {}, "backoff": 7}',
    "a backoff of texts": b'{"task": "fails", "args": {}, "backoff": {"first": "x"}}',
}


def failure_of(job: Job) -> tuple[str, str]:
    assert job.failure is not None
    return job.failure.type, job.failure.message


def test_unreadable_payloads_pushed_to_ingress_fail(site: Site) -> None:
    work = site.work()
    with redis.Redis.from_url(site.url) as server:
        key = f"hr:{{{site.hr.core.namespace}:0}}:ingress:default"
        for payload in MALFORMED.values():
            server.lpush(key, payload)
    good = site.put("quick")
    ids = [f"ingress-{number}" for number in range(1, len(MALFORMED) + 1)]
    site.wait_for("complete", good)
    for what, job in zip(MALFORMED, site.wait_for("failed", *ids), strict=True):
        kind, message = failure_of(job)
        assert kind in ("Malformed", "WrongArguments", "UnreadableData"), (what, kind, message)
        assert message, what
        # A job is retried unless it is malformed, because another worker may be able to read it.
        assert (job.attempt == 1) == (kind == "Malformed"), what
    assert "died" not in work.log()


def test_unknown_task_is_retried_and_then_fails_with_advice(site: Site) -> None:
    site.work()
    job_id = site.queue.put({"task": "new", "args": {}}, retries=2)
    [job] = site.wait_for("failed", job_id)
    kind, message = failure_of(job)
    assert (kind, job.attempt) == ("UnknownTask", 3)
    assert "'new'" in message
    assert "quick" in message
    assert "older" in message


@pytest.mark.parametrize("arguments", [{"number": "x"}, {}, {"number": 1, "more": 2}])
def test_wrong_arguments_are_retried_and_then_fail_with_the_signature(
    site: Site, arguments: dict[str, Any]
) -> None:
    site.work()
    job_id = site.queue.put({"task": "double", "args": arguments}, retries=1)
    [job] = site.wait_for("failed", job_id)
    kind, message = failure_of(job)
    assert (kind, job.attempt) == ("WrongArguments", 2)
    assert "double(number:" in message


def test_unwritable_results_fail_their_job_but_not_the_worker(site: Site) -> None:
    work = site.work()
    ids = [site.put("returns", what=what) for what in ("object", "nan", "large", "circle")]
    for job in site.wait_for("failed", *ids):
        kind, message = failure_of(job)
        assert (kind, job.attempt) == ("Unwritable", 1)
        assert "cannot be stored" in message
    site.wait_for("complete", site.put("quick"))
    assert "died" not in work.log()


KINDS = {
    "mute": "MuteError",
    "huge": "ValueError",
    "surrogate": "ValueError",
    "unpickled": "UnpickledError",
    "long name": "\N{FIRE}",
    "control": "a b",
}


@pytest.mark.parametrize("task", ["raises", "raises_sync", "raises_isolated"])
def test_any_exception_fails_its_job(site: Site, task: str) -> None:
    work = site.work("-c", "30")
    put = site.queue.put
    ids = {kind: put({"task": task, "args": {"kind": kind}}, retries=1) for kind in KINDS}
    others = site.put_many(20, "sync")
    for (kind, expected), job in zip(
        KINDS.items(), site.wait_for("failed", *ids.values()), strict=True
    ):
        found, message = failure_of(job)
        assert found.startswith(expected), kind
        assert len(message.encode()) <= 1 << 16
        assert job.attempt == (1 if kind == "control" else 2)
    site.wait_for("complete", *others)
    assert "died" not in work.log()


@pytest.mark.parametrize("task", ["raises", "raises_sync", "raises_isolated"])
def test_exceptions_that_would_exit_fail_only_the_job(site: Site, task: str) -> None:
    work = site.work()
    kinds = ["exit", "interrupt", "cancelled"]
    put = site.queue.put
    ids = [put({"task": task, "args": {"kind": kind}}, retries=1) for kind in kinds]
    for job in site.wait_for("failed", *ids):
        assert job.attempt == 2
    site.wait_for("complete", site.put("quick"), site.put("sync"), site.put("isolated"))
    assert "died" not in work.log()


def test_put_refuses_a_payload_beyond_the_limit(site: Site) -> None:
    with pytest.raises(headrace.InvalidArgument, match="Limits"):
        site.put("length", text="x" * LARGE)


def test_large_payload_arrives_with_higher_limits(valkey_url: str, tmp_path: Path) -> None:
    with site_on(valkey_url, tmp_path, payload=2 * LARGE) as site:
        site.work(SHOP_PAYLOAD=str(2 * LARGE))
        ids = [site.put(task, text="x" * LARGE) for task in ("length", "length_isolated", "echo")]
        site.wait_for("complete", *ids)
        assert [site.hr.result(job_id).value for job_id in ids[:2]] == [LARGE, LARGE]
        assert site.hr.result(ids[2]).value == "x" * LARGE


def test_result_beyond_the_worker_limits_fails_its_job(valkey_url: str, tmp_path: Path) -> None:
    with site_on(valkey_url, tmp_path, payload=2 * LARGE) as site:
        site.work()
        fits, too_large = (site.put(task, text="x" * LARGE) for task in ("length", "echo"))
        site.wait_for("complete", fits)
        [job] = site.wait_for("failed", too_large)
        assert failure_of(job)[0] == "Unwritable"
        assert json.loads(job.payload)["task"] == "echo"
