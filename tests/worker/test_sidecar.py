"""The sidecar renews a session for its owner unless the owner is dead or stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import headrace
from headrace import Client
from tests.support.processes import gone, start_python
from tests.support.servers import until

pytestmark = pytest.mark.namespace(server_clock=True)


# A program with a sidecar. It executes the commands on its stdin, and prints their names.
OWNER = """
import os, sys
from headrace.worker.sidecar import SidecarSession
url, namespace, watched = sys.argv[1:]
kept = SidecarSession(url, namespace, "owner", ttl=1.5, queues=("q",), watched=watched)
print(kept._process.pid, flush=True)
for line in sys.stdin:
    word, *ids = line.split()
    if word == "begun":
        kept.set_started(ids)
    elif word == "over":
        while not kept.watched_is_over():
            pass
    elif word == "fork":
        pid = os.fork()
        if not pid:
            os.read(0, 1)
            os._exit(0)
    elif word == "kept":
        while kept.is_kept():
            pass
    elif word == "end":
        kept.end()
    print(word, flush=True)
"""


class Owner:
    """A process with a sidecar."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.sidecar = int(process.stdout.readline())

    def do(self, *words: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{words[0]}\n"

    def kill(self, number: int) -> None:
        os.kill(self.process.pid, number)


@contextmanager
def owner(url: str, hr: Client, watched: str = "") -> Iterator[Owner]:
    process = start_python(OWNER, url, hr.core.namespace, watched)
    try:
        yield Owner(process)
    finally:
        process.kill()
        process.communicate()


def sessions(hr: Client) -> list[str]:
    return [worker.name for worker in hr.workers.list()]


def test_sidecar_starts_a_session_and_ends_it_on_request(hr: Client, valkey_url: str) -> None:
    with owner(valkey_url, hr) as one:
        [worker] = hr.workers.list()
        assert (worker.name, worker.queues) == ("owner", ["q"])
        one.do("end")
        assert sessions(hr) == []
        assert gone(one.sidecar)


def test_jobs_of_a_dead_owner_return_at_once_and_only_started_ones_lose_a_retry(
    hr: Client, valkey_url: str
) -> None:
    queue = hr.queue("q")
    queue.put_many([headrace.Put(None, id=job_id, retries=3) for job_id in ("begun", "held")])
    with owner(valkey_url, hr) as one:
        assert len(queue.pop("owner", count=2, lease=float("inf"))) == 2
        one.do("begun", "begun")
        one.kill(signal.SIGKILL)
        until(lambda: queue.counts().waiting == 2, "the jobs are waiting again")
        until(lambda: gone(one.sidecar), "the sidecar is gone")
    assert sessions(hr) == []
    left = {job.id: job.remaining for job in queue.peek(2)}
    assert left == {"begun": 2, "held": 3}


def test_living_child_of_a_dead_owner_does_not_keep_the_session(
    hr: Client, valkey_url: str
) -> None:
    with owner(valkey_url, hr) as one:
        one.do("fork")
        one.kill(signal.SIGKILL)
        until(lambda: gone(one.sidecar), "the sidecar is gone")
        assert sessions(hr) == []


@pytest.mark.slow
def test_session_of_a_stopped_owner_expires(hr: Client, valkey_url: str) -> None:
    queue = hr.queue("q")
    queue.put(None)
    with owner(valkey_url, hr) as one:
        queue.pop("owner", lease=float("inf"))
        one.kill(signal.SIGSTOP)
        [again] = queue.pop("other", wait=30)
        assert again.attempt == 2
        one.kill(signal.SIGCONT)
        until(lambda: "owner" in sessions(hr), "the owner has a session again")


def test_session_that_was_ended_is_started_again(hr: Client, valkey_url: str) -> None:
    with owner(valkey_url, hr):
        [first] = hr.workers.list()
        hr.workers.end("owner")
        until(lambda: sessions(hr) == ["owner"], "there is a session again")
        [second] = hr.workers.list()
        assert second.started != first.started


def test_owner_sees_that_the_watched_session_ended(hr: Client, valkey_url: str) -> None:
    run = hr.session("run", ttl=None)
    with owner(valkey_url, hr, "run") as one:
        run.end()
        one.do("over")


def test_owner_sees_that_the_sidecar_died(hr: Client, valkey_url: str) -> None:
    with owner(valkey_url, hr) as one:
        os.kill(one.sidecar, signal.SIGKILL)
        one.do("kept")
        one.do("begun", "no-reader")
