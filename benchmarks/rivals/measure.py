"""What is measured of each contestant: every figure is told by the worker's own process."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import redis

import headrace
from benchmarks.rivals import field as contestants
from benchmarks.rivals.field import Contestant
from benchmarks.rivals.processes import cpu_seconds, kill, memory_mib, running, tree
from headrace.client import local

PATIENCE = 60.0
POLL = 0.02
SETTLE = 5.0
HELD = 10


class NotMeasured(Exception):
    """A worker or a producer did not do what it should have done; the message says which."""


@dataclass
class Bench:
    """One server for all, and a directory in which workers say what they saw."""

    url: str
    home: Path
    turns: Iterator[int] = field(default_factory=itertools.count)

    def drain(self, who: Contestant, jobs: int) -> dict[str, float]:
        """Jobs a second from the first to the last, and the CPU that a job cost on both sides."""
        turn = self._turn(who, jobs)
        turn.put("fill", jobs)
        before = self._server_cpu()
        with turn.worker():
            found = turn.told()
            server = self._server_cpu() - before
        return {
            "rate": (jobs - 1) / found["seconds"],
            "cpu_us": found["cpu"] / jobs * 1e6,
            "server_us": server / jobs * 1e6,
        }

    def latency(self, who: Contestant, jobs: int) -> list[float]:
        """Milliseconds from before the put to the start of each job."""
        turn = self._turn(who, jobs)
        with turn.worker():
            turn.put("pace", jobs)
            return [seconds * 1000 for seconds in turn.told()["waited"]]

    def idle(self, who: Contestant, seconds: float) -> dict[str, float]:
        """What a worker uses that has nothing to do; alone, as others would share its memory."""
        with self._turn(who, 1).worker() as process:
            time.sleep(SETTLE)
            before = cpu_seconds(process.pid)
            time.sleep(seconds)
            used = cpu_seconds(process.pid) - before
            pss, rss = memory_mib(process.pid)
            count = len(tree(process.pid))
        percent = 100 * used / seconds
        return {"processes": count, "pss_mib": pss, "rss_mib": rss, "cpu_percent": percent}

    def recovery(self, *, whole_tree: bool) -> float:
        """Seconds from kill -9 until the last of the jobs that were held runs again."""
        turn = self._turn(contestants.headrace("held"), HELD)
        with turn.worker() as first:
            turn.put("hold", HELD)
            turn.wait(lambda: len(turn.starts()) >= HELD, "the jobs did not start")
            holder = turn.starts()[0].pid
            with turn.worker():
                turn.wait(lambda: len(self._workers()) >= 2, "no second worker came")
                killed = time.monotonic()
                kill(tree(first.pid) if whole_tree else [holder])
                turn.wait(lambda: len(again(turn.starts())) >= HELD, "the jobs did not run again")
        return max(start.at for start in again(turn.starts()).values()) - killed

    def _server_cpu(self) -> float:
        with redis.Redis.from_url(self.url) as server:
            found: Any = server.info("cpu")
        return float(found["used_cpu_user"] + found["used_cpu_sys"])

    def _workers(self) -> Sequence[Any]:
        with headrace.connect(self.url, namespace="bench") as client:
            return client.workers()

    def _turn(self, who: Contestant, jobs: int) -> Turn:
        with redis.Redis.from_url(self.url) as server:
            server.execute_command("FLUSHALL", "SYNC")
        told = self.home / f"{next(self.turns)}.told"
        given = {"BENCH_URL": self.url, "HEADRACE_URL": self.url}
        given |= {"BENCH_TOLD": str(told), "BENCH_JOBS": str(jobs)}
        return Turn(replace(who, settings={**who.settings, **given}), told)


@dataclass(frozen=True)
class Start:
    """A held job began, in this process, at this time."""

    number: int
    pid: int
    at: float


def again(starts: Sequence[Start]) -> dict[int, Start]:
    """The second start of each job that has one."""
    seen: set[int] = set()
    found: dict[int, Start] = {}
    for start in starts:
        if start.number in seen:
            found.setdefault(start.number, start)
        seen.add(start.number)
    return found


def parsed_starts(text: str) -> list[Start]:
    """Whole lines only: the last may be being written."""
    lines = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [Start(int(number), int(pid), float(at)) for number, pid, at in lines]


@dataclass(frozen=True)
class Turn:
    """One contestant, once."""

    who: Contestant
    path: Path

    @property
    def log(self) -> Path:
        return self.path.with_suffix(".log")

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        with running(self.who.work, self.who.settings, self.log) as process:
            yield process

    def put(self, how: str, count: int) -> None:
        with running((*self.who.put, how, str(count)), self.who.settings, self.log) as process:
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                code = -1
        if code:
            raise self._failure("the producer did not finish")

    def told(self) -> Any:
        self.wait(self.path.exists, "the worker did not finish")
        return json.loads(self.path.read_text())

    def starts(self) -> list[Start]:
        return parsed_starts(self.path.read_text()) if self.path.exists() else []

    def wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise self._failure(otherwise)
            time.sleep(POLL)

    def _failure(self, text: str) -> NotMeasured:
        return NotMeasured(f"{self.who.name}: {text}\n{local.tail(self.log)}")
