"""The namespace of a test, with workers as real processes and the notes of their tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL, Signals
from typing import Any, NamedTuple

import headrace
from headrace import Client, Job, Queue
from tests.support.processes import gone
from tests.support.servers import until

SHOP = "tests.worker.support.shop:app"
MAIN = [sys.executable, "-c", "from headrace.cli.main import main; main()", "work"]
WAIT_SECONDS = 30.0


class Note(NamedTuple):
    """A note of a task: the job, the attempt, the process, the time and a word."""

    id: str
    attempt: int
    pid: int
    at: float
    word: str


class Work:
    """A running `headrace work`: a supervisor and its processes, in their own process group."""

    def __init__(
        self, command: Sequence[str], env: dict[str, str], log: Path, cwd: Path | None
    ) -> None:
        self._log = log
        with log.open("ab") as output:
            self._supervisor = subprocess.Popen(
                command, env=env, cwd=cwd, stderr=output, stdout=output, start_new_session=True
            )
        self.pid = self._supervisor.pid

    def log(self) -> str:
        return self._log.read_text()

    def processes(self) -> list[int]:
        """Return the pids of the child processes, oldest first."""
        try:
            listed = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except OSError:
            return []
        return [pid for pid in map(int, listed.split()) if not gone(pid)]

    def signal(self, number: Signals) -> None:
        """Send a signal to the supervisor."""
        os.kill(self.pid, number)

    def signal_all(self, number: Signals) -> None:
        """Send a signal to the whole process group, as Ctrl-C does."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def exit_code(self) -> int:
        return self._supervisor.wait(WAIT_SECONDS)

    def has_ended(self) -> bool:
        return self._supervisor.poll() is not None

    def kill(self) -> None:
        self.signal_all(SIGKILL)
        self._supervisor.wait()


class Site:
    """Puts jobs, starts workers and reads outcomes in the namespace of a test."""

    def __init__(self, url: str, hr: Client, home: Path) -> None:
        self.url = url
        self.hr = hr
        self.home = home
        self.every: list[Work] = []

    @property
    def queue(self) -> Queue:
        return self.hr.queue("default")

    def work(
        self,
        *options: str,
        app: str = SHOP,
        url: str | None = None,
        cwd: Path | None = None,
        **env: str,
    ) -> Work:
        """Start `headrace work` and return it."""
        given = {
            **os.environ,
            "HEADRACE_URL": url or self.url,
            "SHOP_NAME": self.hr.core.namespace,
            "SHOP_HOME": str(self.home),
            **env,
        }
        log = self.home / f"log {len(self.every)}"
        self.every.append(Work([*MAIN, app, *options], given, log, cwd))
        return self.every[-1]

    def put(self, task: str, queue: str = "default", **arguments: Any) -> str:
        return self.hr.queue(queue).put({"task": task, "args": arguments})

    def put_many(
        self, count: int, task: str, queue: str = "default", **arguments: Any
    ) -> list[str]:
        data = {"task": task, "args": arguments}
        return self.hr.queue(queue).put_many([data] * count)

    def open_gate(self, name: str) -> None:
        (self.home / name).touch()

    def notes(self, word: str = "") -> list[Note]:
        """Return the notes of the tasks, or only those with this word."""
        file = self.home / "notes"
        lines = file.read_text().splitlines() if file.exists() else []
        parts = [line.split(" ", 4) for line in lines]
        found = [Note(id_, int(n), int(pid), float(at), word_) for id_, n, pid, at, word_ in parts]
        return [one for one in found if not word or one.word == word]

    def wait_for_notes(self, count: int, word: str) -> list[Note]:
        until(lambda: len(self.notes(word)) >= count, f"{count} noted {word!r}", WAIT_SECONDS)
        return self.notes(word)

    def job(self, job_id: str) -> Job:
        found = self.hr.job(job_id)
        assert found is not None
        return found

    def wait_for(self, state: str, *ids: str) -> list[Job]:
        """Wait until these jobs are in a state, and return them."""
        for job_id in ids:
            until(
                lambda: self.job(job_id).state == state,  # noqa: B023
                f"{job_id} is {state}",
                WAIT_SECONDS,
            )
        return [self.job(job_id) for job_id in ids]

    def kinds(self, job_id: str) -> list[str]:
        """Return the kinds of the events of a job, in order."""
        return [event.kind for event in self.hr.events(count=10_000) if event.job_id == job_id]


@contextmanager
def site_on(url: str, home: Path, shards: int = 1, payload: int | None = None) -> Iterator[Site]:
    """Yield a site in a new namespace; kill its workers and check the books at the end."""
    limits = None if payload is None else headrace.Limits(payload=payload)
    namespace = f"shop-{uuid.uuid4().hex[:12]}"
    with headrace.connect(url, namespace=namespace, shards=shards, limits=limits) as hr:
        site = Site(url, hr, home)
        try:
            yield site
            assert hr.audit().problems == []
        except BaseException:
            for work in site.every:
                print(f"--- {work.pid}\n{work.log()[-6000:]}")
            raise
        finally:
            for work in site.every:
                work.kill()
