"""The state of a namespace as metrics."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

import headrace
from headrace.operations.lakes import mark_lake
from headrace.telemetry import ServerCollector, server_metrics
from headrace.transport.drive import drive
from tests.support.clients import Location
from tests.support.servers import listens_on

MAIN = [sys.executable, "-c", "from headrace.cli.main import main; main()"]


@pytest.fixture(params=[1, 3])
def location(url: str, request: pytest.FixtureRequest) -> Location:
    """Use the server's own clock, with one shard and with several."""
    return Location(url, shards=request.param, server_clock=True)


def scraped(hr: headrace.Client) -> dict[str, float]:
    """Return every sample by name and labels, without the namespace label."""
    registry = CollectorRegistry()
    registry.register(ServerCollector(hr))
    found = {}
    for family in registry.collect():
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("namespace") == hr.core.namespace
            found[" ".join([sample.name, *labels.values()])] = sample.value
    return found


def test_namespace_without_queues_has_no_queue_metrics(hr: headrace.Client) -> None:
    found = scraped(hr)

    assert (found["headrace_up"], found["headrace_queues"], found["headrace_workers"]) == (1, 0, 0)
    assert sum(found[f"headrace_events {shard}"] for shard in range(hr.core.shards)) == 0
    assert found["headrace_memory_bytes"] > 0
    assert found["headrace_memory_limit_bytes"] >= 0


def test_lag_of_lakes_is_reported(hr: headrace.Client) -> None:
    assert not any(name.startswith("headrace_lake_behind") for name in scraped(hr))
    drive(hr.core.transport, mark_lake(hr, "history", dict.fromkeys(range(hr.core.shards), "0-0")))
    hr.queue("mail").put_many(range(10))

    found = scraped(hr)

    behind = [found[f"headrace_lake_behind history {shard}"] for shard in range(hr.core.shards)]
    assert sum(behind) == 10


def test_queue_count_includes_queues_beyond_the_limit(
    hr: headrace.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_metrics, "QUEUES", 1)
    hr.queue("one").put({})
    hr.queue("two").put({})

    found = scraped(hr)

    assert found["headrace_queues"] == 2
    assert len([name for name in found if name.startswith("headrace_paused")]) == 1


def test_metrics_match_the_state_of_the_queues(hr: headrace.Client) -> None:
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

        found = scraped(hr)
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


def test_waiting_time_of_the_next_job_is_reported(hr: headrace.Client) -> None:
    hr.queue("mail").put({}, id="old")
    [lease] = hr.queue("mail").pop("ann")
    assert "headrace_next_waits_seconds mail" not in scraped(hr)

    lease.release()

    assert scraped(hr)["headrace_next_waits_seconds mail"] < 3600


def test_scrape_of_many_queues_takes_few_round_trips(hr: headrace.Client) -> None:
    for number in range(30):
        hr.queue(f"queue {number}").put({})
    scraped(hr)  # loads the scripts into the server
    trips = []
    send = hr.core.transport.send

    def counting(commands: Any) -> Any:
        trips.append(len(commands))
        return send(commands)

    hr.core.transport.send = counting
    scraped(hr)

    assert len(trips) <= 5
    assert max(trips) <= (2 * 30 + 5) * hr.core.shards


def test_scrape_changes_nothing_on_the_server(hr: headrace.Client) -> None:
    hr.queue("mail").put_many([{}] * 3)
    before = list(hr.events())

    scraped(hr)

    assert list(hr.events()) == before
    assert hr.audit().balanced


def test_up_is_zero_if_the_server_does_not_answer(url: str) -> None:
    with headrace.connect(url, namespace="gone", retry_for=0) as client:
        client.close()
        client.core.transport.send = _unreachable
        assert scraped(client) == {"headrace_up": 0}


def _unreachable(commands: list[object]) -> list[Exception]:
    return [ConnectionError("gone") for _ in commands]


@pytest.mark.parametrize(
    ("address", "served"),
    [((), False), (("--address", "0.0.0.0"), True)],  # noqa: S104
)
def test_metrics_command_serves_until_ctrl_c(
    valkey_url: str, address: tuple[str, ...], *, served: bool
) -> None:
    namespace = f"test-{uuid4().hex[:12]}"
    with headrace.connect(valkey_url, namespace=namespace) as client:
        client.queue("mail").put({})
    options = ["metrics", "--port", "0", *address, "--url", valkey_url, "-n", namespace]
    with subprocess.Popen([*MAIN, *options], stdout=subprocess.PIPE, env=os.environ) as serving:
        assert serving.stdout is not None
        said = serving.stdout.readline().decode()
        port = re.findall(r"on port (\d+)", said)[0]
        with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        # A server on all addresses also listens on this one.
        assert listens_on(int(port), "127.0.0.2") is served
        serving.send_signal(2)
        assert serving.wait(20) == 0

    assert f'headrace_jobs{{namespace="{namespace}",queue="mail",state="waiting"}} 1.0' in text
