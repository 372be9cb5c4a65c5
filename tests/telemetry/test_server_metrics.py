"""The state of a namespace as metrics."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

import headrace
from headrace.operations.lakes import mark_lake
from headrace.telemetry import ServerCollector, server_metrics
from headrace.transport.drive import drive

MAIN = [sys.executable, "-c", "from headrace.cli.main import main; main()"]


@pytest.fixture(params=[1, 3])
def hr(url: str, request: pytest.FixtureRequest) -> Iterator[headrace.Client]:
    """A namespace with the server's own clock, on one shard and on several."""
    namespace = f"test-{uuid4().hex[:12]}"
    with headrace.connect(url, namespace=namespace, shards=request.param) as client:
        yield client


def told(hr: headrace.Client) -> dict[str, float]:
    """Every sample by its name and its labels but for the namespace."""
    registry = CollectorRegistry()
    registry.register(ServerCollector(hr))
    found = {}
    for family in registry.collect():
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("namespace") == hr.core.namespace
            found[" ".join([sample.name, *labels.values()])] = sample.value
    return found


def test_a_namespace_without_queues(hr: headrace.Client) -> None:
    found = told(hr)

    assert (found["headrace_up"], found["headrace_queues"], found["headrace_workers"]) == (1, 0, 0)
    assert sum(found[f"headrace_events {shard}"] for shard in range(hr.core.shards)) == 0
    assert found["headrace_memory_bytes"] > 0
    assert found["headrace_memory_limit_bytes"] >= 0


def test_what_lakes_have_yet_to_take_is_told(hr: headrace.Client) -> None:
    assert not any(name.startswith("headrace_lake_behind") for name in told(hr))
    drive(hr.core.transport, mark_lake(hr, "history", dict.fromkeys(range(hr.core.shards), "0-0")))
    hr.queue("mail").put_many(range(10))

    found = told(hr)

    behind = [found[f"headrace_lake_behind history {shard}"] for shard in range(hr.core.shards)]
    assert sum(behind) == 10


def test_all_queues_are_counted_also_where_not_all_are_told(
    hr: headrace.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_metrics, "QUEUES", 1)
    hr.queue("one").put({})
    hr.queue("two").put({})

    found = told(hr)

    assert found["headrace_queues"] == 2
    assert len([name for name in found if name.startswith("headrace_paused")]) == 1


def test_queues_are_told_as_they_are(hr: headrace.Client) -> None:
    mail = hr.queue("mail")
    mail.put_many([{}] * 10)
    mail.put({}, delay=3600)
    hr.cancel(mail.put({}, delay=3600))
    with hr.session("ann"):
        first, second, third, _ = mail.pop("ann", count=4)
        first.complete()
        second.fail("bad", "no")
        third.fail("bad", "once more", retry_in=3600)
        hr.queue("idle").put({})
        hr.queue("idle").pause()

        found = told(hr)
        events = len(list(hr.events()))

    states = {
        state: found[f"headrace_jobs mail {state}"]
        for state in ("waiting", "scheduled", "blocked", "running", "failed", "complete")
    }
    assert states == {
        "waiting": 6,
        "scheduled": 2,
        "blocked": 0,
        "running": 1,
        "failed": 1,
        "complete": 1,
    }
    assert (found["headrace_queues"], found["headrace_workers"]) == (2, 1)
    assert (found["headrace_paused mail"], found["headrace_paused idle"]) == (0, 1)
    assert found["headrace_late_jobs mail"] == 0
    assert found["headrace_booked_jobs_total mail put"] == 12
    assert found["headrace_booked_jobs_total mail cancelled"] == 1
    assert found["headrace_booked_jobs_total idle expired"] == 0
    assert found["headrace_failures_total mail"] == 1
    assert found["headrace_retries_total mail"] == 1
    assert found["headrace_queue_pops_total mail"] == 4
    assert found["headrace_queue_completions_total mail"] == 1
    assert found["headrace_queue_wait_seconds_total mail"] >= 0
    assert found["headrace_next_waits_seconds mail"] >= 0
    assert sum(found[f"headrace_events {shard}"] for shard in range(hr.core.shards)) == events


def test_how_long_the_next_job_has_waited(hr: headrace.Client) -> None:
    hr.queue("mail").put({}, id="old")
    [lease] = hr.queue("mail").pop("ann")
    assert "headrace_next_waits_seconds mail" not in told(hr)

    lease.release()

    assert told(hr)["headrace_next_waits_seconds mail"] < 3600


def test_a_scrape_takes_few_round_trips_however_many_queues_there_are(hr: headrace.Client) -> None:
    for number in range(30):
        hr.queue(f"queue {number}").put({})
    told(hr)  # from now on the scripts are on the server
    trips = []
    send = hr.core.transport.send

    def counting(commands: Any) -> Any:
        trips.append(len(commands))
        return send(commands)

    hr.core.transport.send = counting
    told(hr)

    assert len(trips) <= 5
    assert max(trips) <= (2 * 30 + 5) * hr.core.shards


def test_to_look_changes_nothing(hr: headrace.Client) -> None:
    hr.queue("mail").put_many([{}] * 3)
    before = list(hr.events())

    told(hr)

    assert list(hr.events()) == before
    assert hr.audit().balanced


def test_a_server_that_does_not_answer_is_told_as_such(url: str) -> None:
    with headrace.connect(url, namespace="gone", retry_for=0) as client:
        client.close()
        client.core.transport.send = _unreachable
        assert told(client) == {"headrace_up": 0}


def _unreachable(commands: list[object]) -> list[Exception]:
    return [ConnectionError("gone") for _ in commands]


def test_the_command_serves_them_until_it_is_interrupted(valkey_url: str) -> None:
    namespace = f"test-{uuid4().hex[:12]}"
    with headrace.connect(valkey_url, namespace=namespace) as client:
        client.queue("mail").put({})
    options = ["metrics", "--port", "0", "--url", valkey_url, "-n", namespace]
    with subprocess.Popen([*MAIN, *options], stdout=subprocess.PIPE, env=os.environ) as serving:
        assert serving.stdout is not None
        said = serving.stdout.readline().decode()
        port = re.findall(r"on port (\d+)", said)[0]
        with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        serving.send_signal(2)
        assert serving.wait(20) == 0

    assert f'headrace_jobs{{namespace="{namespace}",queue="mail",state="waiting"}} 1.0' in text
