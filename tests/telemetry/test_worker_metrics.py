"""`headrace work --metrics-port` serves the sum of the counts of all processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.processes import gone
from tests.support.servers import listens_on, until
from tests.worker.support.site import Site, Work

SHOP = "tests.telemetry.support.shop:app"


def scrape(port: int) -> dict[str, float]:
    """Return every sample by name and labels."""
    with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        f"{sample.name}{{{','.join(f'{k}={v}' for k, v in sorted(sample.labels.items()))}}}": (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def port_of(work: Work) -> int:
    until(
        lambda: re.search(r"serving metrics port=\d+", work.log()) is not None, "the port is logged"
    )
    found = re.search(r"serving metrics port=(\d+)", work.log())
    assert found is not None
    return int(found[1])


def start(site: Site, *options: str) -> tuple[Work, int]:
    # A killed worker may leave a temporary directory, so it uses the directory of the test.
    home, spans = str(site.home), str(site.home / "spans")
    work = site.work("--metrics-port", "0", *options, app=SHOP, SHOP_SPANS=spans, TMPDIR=home)
    return work, port_of(work)


def value(port: int, sample: str) -> float:
    return scrape(port).get(sample, 0.0)


def directory_of(work: Work) -> Path:
    return Path(_command(server_pid(work))[3])


def server_pid(work: Work) -> int:
    """Return the process that serves the metrics."""
    [found] = [
        pid for pid in work.processes() if "headrace.telemetry.metrics_process" in _command(pid)
    ]
    return found


def _command(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_runs_are_counted_by_task_queue_and_outcome_over_all_processes(site: Site) -> None:
    site.put_many(20, "in_loop")
    site.put_many(5, "in_thread", "mail")
    site.put_many(2, "in_process")
    site.hr.queue("default").put({"task": "broken"}, retries=1)
    site.put("tired")
    site.hr.queue("default").put({"task": "no such task"}, retries=0)
    _, port = start(site, "--processes", "2", "-c", "3", "-q", "default,mail")

    def counted() -> float:
        return sum(n for name, n in scrape(port).items() if name.startswith("headrace_runs_total"))

    until(lambda: counted() >= 31, "31 runs are counted")
    samples = scrape(port)
    runs = {name[20:-1]: n for name, n in samples.items() if name.startswith("headrace_runs_total")}
    assert runs == {
        "outcome=completed,queue=default,task=in_loop": 20,
        "outcome=completed,queue=mail,task=in_thread": 5,
        "outcome=completed,queue=default,task=in_process": 2,
        "outcome=retried,queue=default,task=broken": 1,
        "outcome=failed,queue=default,task=broken": 1,
        "outcome=snoozed,queue=default,task=tired": 1,
        "outcome=failed,queue=default,task=unknown": 1,
    }
    assert samples["headrace_run_seconds_count{queue=default,task=in_loop}"] == 20
    assert samples["headrace_wait_seconds_count{queue=mail,task=in_thread}"] == 5
    assert samples["headrace_run_seconds_bucket{le=+Inf,queue=mail,task=in_thread}"] == 5
    assert samples["headrace_concurrency{}"] == 6
    assert samples["headrace_processes{}"] == 2
    assert samples["headrace_ready{}"] == 0
    assert samples["letters_total{}"] == 27, "the app's own metrics are served as well"


def test_dead_process_leaves_its_counters_but_not_its_gauges(site: Site) -> None:
    work, port = start(site, "--processes", "1")
    site.put_many(3, "in_loop")
    until(lambda: value(port, "letters_total{}") == 3, "three letters are counted")
    files = {file.name for file in directory_of(work).iterdir()}

    site.hr.queue("default").put({"task": "die"}, retries=0)
    until(lambda: "worker process died" in work.log(), "the death is logged")
    site.put_many(2, "in_loop")
    until(lambda: value(port, "letters_total{}") == 5, "five letters are counted")

    samples = scrape(port)
    assert samples["headrace_runs_total{outcome=completed,queue=default,task=in_loop}"] == 5
    assert samples["headrace_processes{}"] == 1
    assert {file.name for file in directory_of(work).iterdir()} == files


def test_metrics_server_that_died_is_restarted_at_the_same_port(site: Site) -> None:
    work, port = start(site)
    until(
        lambda: value(port, "headrace_processes{}") == 1,
        "the metrics server counts the worker process",
    )

    os.kill(server_pid(work), signal.SIGKILL)

    until(lambda: "metrics server died; starting another" in work.log(), "the death is logged")
    until(lambda: answers(port), "another server serves")
    assert value(port, "headrace_processes{}") == 1


def answers(port: int) -> bool:
    with suppress(OSError):
        return bool(scrape(port))
    return False


def test_metrics_server_and_files_are_gone_after_shutdown(site: Site) -> None:
    work, port = start(site, "--processes", "2")
    until(lambda: value(port, "headrace_processes{}") == 2, "both processes are counted")
    directory = directory_of(work)

    work.signal_all(signal.SIGINT)

    assert work.exit_code() == 0
    assert not directory.exists()
    with pytest.raises(urllib.error.URLError):
        scrape(port)


def test_metrics_server_and_files_are_gone_after_the_supervisor_was_killed(site: Site) -> None:
    work, port = start(site, "--processes", "2")
    until(lambda: value(port, "headrace_processes{}") == 2, "both processes are counted")
    directory, processes = directory_of(work), work.processes()

    os.kill(work.pid, signal.SIGKILL)

    until(lambda: all(map(gone, processes)), "no process is left")
    assert not directory.exists()


@pytest.mark.parametrize(
    ("options", "served"),
    [((), False), (("--metrics-address", "0.0.0.0"), True)],  # noqa: S104
)
def test_metrics_are_served_to_other_machines_only_on_request(
    site: Site, options: tuple[str, ...], *, served: bool
) -> None:
    work, port = start(site, *options)

    assert listens_on(port, "127.0.0.1")
    # A server on all addresses also listens on this one.
    assert listens_on(port, "127.0.0.2") is served

    # A restarted metrics server uses the same address.
    os.kill(server_pid(work), signal.SIGKILL)
    until(lambda: "metrics server died; starting another" in work.log(), "the death is logged")
    until(lambda: answers(port), "another server serves")
    assert listens_on(port, "127.0.0.2") is served


def test_port_in_use_is_reported(site: Site) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        work = site.work("--metrics-port", str(port), app=SHOP, SHOP_SPANS=str(site.home / "spans"))
        assert work.exit_code() == 2

    assert f"headrace: cannot serve metrics on port {port}" in work.log()
