"""Jobs that cannot be run, read, answered for or kept: each ends with words that help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis

import headrace
from headrace import Job
from tests.worker.site import Site, site_on

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


def test_what_other_programs_push_and_nobody_can_read_fails(site: Site) -> None:
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
        # What another worker might understand is tried again.
        assert (job.attempt == 1) == (kind == "Malformed"), what
    assert "died" not in work.log()


def test_a_task_that_nobody_has_is_tried_again_and_then_fails_with_advice(site: Site) -> None:
    site.work()
    job_id = site.queue.put({"task": "new", "args": {}}, retries=2)
    [job] = site.wait_for("failed", job_id)
    kind, message = failure_of(job)
    assert (kind, job.attempt) == ("UnknownTask", 3)
    assert "'new'" in message
    assert "quick" in message
    assert "older" in message


@pytest.mark.parametrize("arguments", [{"number": "x"}, {}, {"number": 1, "more": 2}])
def test_arguments_that_do_not_fit_are_tried_again_and_then_fail_with_the_argument_named(
    site: Site, arguments: dict[str, Any]
) -> None:
    site.work()
    job_id = site.queue.put({"task": "double", "args": arguments}, retries=1)
    [job] = site.wait_for("failed", job_id)
    kind, message = failure_of(job)
    assert (kind, job.attempt) == ("WrongArguments", 2)
    assert "double(number:" in message


def test_results_that_cannot_be_kept_fail_their_job_and_not_the_worker(site: Site) -> None:
    work = site.work()
    ids = [site.put("returns", what=what) for what in ("object", "nan", "large", "circle")]
    for job in site.wait_for("failed", *ids):
        kind, message = failure_of(job)
        assert (kind, job.attempt) == ("Unwritable", 1)
        assert "cannot be kept" in message
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


@pytest.mark.parametrize("task", ["raises", "raises_plain", "raises_apart"])
def test_whatever_is_raised_ends_its_job(site: Site, task: str) -> None:
    work = site.work("-c", "30")
    put = site.queue.put
    ids = {kind: put({"task": task, "args": {"kind": kind}}, retries=1) for kind in KINDS}
    others = site.put_many(20, "plain")
    for (kind, expected), job in zip(
        KINDS.items(), site.wait_for("failed", *ids.values()), strict=True
    ):
        found, message = failure_of(job)
        assert found.startswith(expected), kind
        assert len(message.encode()) <= 1 << 16
        assert job.attempt == (1 if kind == "control" else 2)
    site.wait_for("complete", *others)
    assert "died" not in work.log()


@pytest.mark.parametrize("task", ["raises", "raises_plain", "raises_apart"])
def test_exceptions_that_end_programs_end_only_the_job(site: Site, task: str) -> None:
    work = site.work()
    kinds = ["exit", "interrupt", "cancelled"]
    put = site.queue.put
    ids = [put({"task": task, "args": {"kind": kind}}, retries=1) for kind in kinds]
    for job in site.wait_for("failed", *ids):
        assert job.attempt == 2
    site.wait_for("complete", site.put("quick"), site.put("plain"), site.put("apart"))
    assert "died" not in work.log()


def test_a_payload_beyond_the_limit_is_refused_by_put(site: Site) -> None:
    with pytest.raises(headrace.InvalidArgument, match="Limits"):
        site.put("length", text="x" * LARGE)


def test_with_higher_limits_a_large_payload_goes_all_the_way(
    valkey_url: str, tmp_path: Path
) -> None:
    with site_on(valkey_url, tmp_path, payload=2 * LARGE) as site:
        site.work(SHOP_PAYLOAD=str(2 * LARGE))
        ids = [site.put(task, text="x" * LARGE) for task in ("length", "length_apart", "echo")]
        site.wait_for("complete", *ids)
        assert [site.hr.result(job_id).value for job_id in ids[:2]] == [LARGE, LARGE]
        assert site.hr.result(ids[2]).value == "x" * LARGE


def test_a_worker_with_lower_limits_than_the_producer_fails_what_it_cannot_answer(
    valkey_url: str, tmp_path: Path
) -> None:
    with site_on(valkey_url, tmp_path, payload=2 * LARGE) as site:
        site.work()
        fits, too_large = (site.put(task, text="x" * LARGE) for task in ("length", "echo"))
        site.wait_for("complete", fits)
        [job] = site.wait_for("failed", too_large)
        assert failure_of(job)[0] == "Unwritable"
        assert json.loads(job.payload)["task"] == "echo"
