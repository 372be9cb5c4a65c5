"""Clients of different versions share a namespace under load; none loses or repeats a job."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from threading import Event

import pytest
import redis

import headrace
from headrace import Client, Lease
from headrace.engine.script import LIBRARY, Library, source
from tests.model.harness import GENERAL_PATH
from tests.support.functions import has_library, user_without
from tests.support.restartable import Restartable
from tests.support.servers import until

SECONDS = 3.0
MOST_JOBS = 1500  # the limit for each producer
WAIT = 0.05


def another_version() -> Library:
    """Return a library with another text and without the short paths."""
    head, _, body = source("ops/counts").text.partition("\n\n")
    return Library(
        swaps=GENERAL_PATH | {"ops/counts": f"{head}\n\nlocal version = 2\n{body}"},
    )


class Load:
    """Threads that put and complete jobs, each through a client of one version."""

    def __init__(self) -> None:
        self.put: list[str] = []
        self.completed: list[str] = []
        self.attempts = Counter[str]()
        self.deleted: set[str] = set()
        self.finished = Event()

    def produce(self, hr: Client, seed: int) -> None:
        """Put jobs in every way: alone and in batches, plain and with options."""
        chance, queue = random.Random(seed), hr.queue("mail")
        ends, mine = time.monotonic() + SECONDS, 0
        ways: list[Callable[[], list[str]]] = [
            lambda: [queue.put("plain")],
            lambda: [queue.put("urgent", priority=chance.randrange(9), tags=["t"], retries=9)],
            lambda: [hr.queue("limited").put("keyed", key=f"k{chance.randrange(9)}")],
            lambda: queue.put_many(["batch"] * 5),
        ]
        while time.monotonic() < ends and mine < MOST_JOBS:
            ids = chance.choice(ways)()
            mine += len(ids)
            self.put += ids

    def consume(self, hr: Client, worker: str) -> None:
        """Pop jobs until all are complete."""
        chance = random.Random(worker)
        while not self.finished.is_set():
            name, wait = chance.choice([("mail", WAIT), ("limited", 0)])
            leases = hr.queue(name).pop(worker, count=chance.choice([1, 20]), wait=wait)
            self.attempts.update(lease.id for lease in leases)
            if chance.random() < 0.5:
                assert hr.leases.complete(leases) == ["complete"] * len(leases)
                self.completed += [lease.id for lease in leases]
            else:
                for lease in leases:
                    self.end(lease, chance.random())

    def end(self, lease: Lease, fate: float) -> None:
        """Release a job, let it fail, or complete it."""
        if fate < 0.05:
            assert lease.release() == "waiting"
        elif fate < 0.1 and lease.attempt < 3:
            assert lease.fail("busy", retry_in=0) in {"waiting", "scheduled"}
        else:
            assert lease.complete() == "complete"
            self.completed.append(lease.id)

    def disturb(self, admin: redis.Redis) -> None:
        """Delete the libraries of both versions, in turn, while clients use them."""
        libraries = cycle([LIBRARY, another_version()])
        while not self.finished.wait(SECONDS / 10):
            library = next(libraries)
            if has_library(admin, "function", library):
                admin.function_delete(library.name)
                self.deleted.add(library.name)


@pytest.fixture
def clients(server: Restartable) -> Iterator[list[Client]]:
    """Clients of two versions that use functions, and one that runs scripts."""
    limited = user_without(server.url, "fcall", "fcall_ro", "function")
    with ExitStack() as closing:
        yield [
            closing.enter_context(headrace.connect(url, library=library))
            for url, library in (
                (server.url, LIBRARY),
                (server.url, another_version()),
                (limited, another_version()),
            )
        ]


def test_no_job_is_lost_or_completed_twice(clients: list[Client], server: Restartable) -> None:
    old, *_ = clients
    old.queue("limited").configure(key_concurrency=2)
    load = Load()
    with ThreadPoolExecutor(8) as pool, redis.Redis.from_url(server.url) as admin:
        producers = [pool.submit(load.produce, hr, seed) for seed, hr in enumerate(clients)]
        others = [pool.submit(load.consume, hr, f"w{n}") for n, hr in enumerate(clients)]
        others.append(pool.submit(load.disturb, admin))
        try:
            for producer in producers:
                producer.result()
            until(lambda: len(load.completed) >= len(load.put), "all jobs are complete")
        finally:
            load.finished.set()
        for other in others:
            other.result()

        assert not has_library(admin, "script", LIBRARY)
        assert has_library(admin, "script", another_version())
    assert load.deleted == {LIBRARY.name, another_version().name}
    assert sorted(load.completed) == sorted(load.put)
    check_history(old, load)


def check_history(hr: Client, load: Load) -> None:
    kinds = defaultdict[str, Counter[str]](Counter)
    for event in hr.events():
        if event.job_id:
            kinds[event.job_id][event.kind] += 1
    assert sorted(kinds) == sorted(load.put)
    for job_id, count in kinds.items():
        assert (count["put"], count["completed"]) == (1, 1)
        assert count["popped"] == load.attempts[job_id]
    ended = [hr.queue(name).counts() for name in ("mail", "limited")]
    assert sum(counts.complete for counts in ended) == len(load.put)
    assert sum(counts.length for counts in ended) == 0
    assert hr.audit().problems == []
