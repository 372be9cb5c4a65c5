"""`headrace work --metrics-port`: what several processes count is served as one."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.processes import gone
from tests.support.servers import until
from tests.worker.site import Site, Work

SHOP = "tests.telemetry.shop:app"


def scrape(port: int) -> dict[str, float]:
    """Every sample by its name and labels, as they are written."""
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
    until(lambda: re.search(r"metrics are served port=\d+", work.log()) is not None, "a port")
    found = re.search(r"metrics are served port=(\d+)", work.log())
    assert found is not None
    return int(found[1])


def begin(site: Site, *options: str) -> tuple[Work, int]:
    # What is killed in the end leaves its directory behind: there it goes with the test.
    home, spans = str(site.home), str(site.home / "spans")
    work = site.work("--metrics-port", "0", *options, app=SHOP, SHOP_SPANS=spans, TMPDIR=home)
    return work, port_of(work)


def value(port: int, sample: str) -> float:
    return scrape(port).get(sample, 0.0)


def directory_of(work: Work) -> Path:
    return Path(_command(_guard(work))[3])


def _guard(work: Work) -> int:
    """Who begins the server, again if it must be."""
    [found] = [pid for pid in work.processes() if "headrace.telemetry.serving" in _command(pid)]
    return found


def _command(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_runs_are_counted_by_task_queue_and_outcome_over_all_processes(site: Site) -> None:
    site.put_many(20, "in_loop")
    site.put_many(5, "in_thread", "mail")
    site.put_many(2, "in_process")
    site.hr.queue("default").put({"task": "broken"}, retries=1)
    site.put("tired")
    site.hr.queue("default").put({"task": "nobody knows this"}, retries=0)
    _, port = begin(site, "--processes", "2", "-c", "3", "-q", "default,mail")

    def counted() -> float:
        return sum(n for name, n in scrape(port).items() if name.startswith("headrace_runs_total"))

    until(lambda: counted() >= 31, "31 runs are counted")
    told = scrape(port)
    runs = {name[20:-1]: n for name, n in told.items() if name.startswith("headrace_runs_total")}
    assert runs == {
        "outcome=completed,queue=default,task=in_loop": 20,
        "outcome=completed,queue=mail,task=in_thread": 5,
        "outcome=completed,queue=default,task=in_process": 2,
        "outcome=retried,queue=default,task=broken": 1,
        "outcome=failed,queue=default,task=broken": 1,
        "outcome=snoozed,queue=default,task=tired": 1,
        "outcome=failed,queue=default,task=unknown": 1,
    }
    assert told["headrace_run_seconds_count{queue=default,task=in_loop}"] == 20
    assert told["headrace_wait_seconds_count{queue=mail,task=in_thread}"] == 5
    assert told["headrace_run_seconds_bucket{le=+Inf,queue=mail,task=in_thread}"] == 5
    assert told["headrace_concurrency{}"] == 6
    assert told["headrace_processes{}"] == 2
    assert told["headrace_ready{}"] == 0
    assert told["letters_total{}"] == 27, "the app's own metrics are served as well"


def test_a_process_that_died_is_counted_no_longer_but_what_it_counted_is(site: Site) -> None:
    work, port = begin(site, "--processes", "1")
    site.put_many(3, "in_loop")
    until(lambda: value(port, "letters_total{}") == 3, "three are counted")
    files = {file.name for file in directory_of(work).iterdir()}

    site.hr.queue("default").put({"task": "die"}, retries=0)
    until(lambda: "a worker process died" in work.log(), "it died")
    site.put_many(2, "in_loop")
    until(lambda: value(port, "letters_total{}") == 5, "five are counted")

    told = scrape(port)
    assert told["headrace_runs_total{outcome=completed,queue=default,task=in_loop}"] == 5
    assert told["headrace_processes{}"] == 1
    assert {file.name for file in directory_of(work).iterdir()} == files


def test_a_server_that_died_is_begun_again(site: Site) -> None:
    work, port = begin(site)
    until(lambda: value(port, "headrace_processes{}") == 1, "it serves")
    guard = _guard(work)
    server = int(Path(f"/proc/{guard}/task/{guard}/children").read_text())

    os.kill(server, signal.SIGKILL)

    until(lambda: "the metrics server died and is begun again" in work.log(), "that is said")
    assert value(port, "headrace_processes{}") == 1


def test_everything_is_gone_when_the_work_is_over(site: Site) -> None:
    work, port = begin(site, "--processes", "2")
    until(lambda: value(port, "headrace_processes{}") == 2, "both are there")
    directory = directory_of(work)

    work.signal_all(signal.SIGINT)

    assert work.exit_code() == 0
    assert not directory.exists()
    with pytest.raises(urllib.error.URLError):
        scrape(port)


def test_everything_is_gone_when_the_supervisor_was_killed(site: Site) -> None:
    work, port = begin(site, "--processes", "2")
    until(lambda: value(port, "headrace_processes{}") == 2, "both are there")
    directory, processes = directory_of(work), work.processes()

    os.kill(work.pid, signal.SIGKILL)

    until(lambda: all(map(gone, processes)), "no process is left")
    assert not directory.exists()


def test_a_port_that_is_taken_is_said(site: Site) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        work = site.work("--metrics-port", str(port), app=SHOP, SHOP_SPANS=str(site.home / "spans"))
        assert work.exit_code() == 2

    assert f"headrace: metrics cannot be served at port {port}" in work.log()
