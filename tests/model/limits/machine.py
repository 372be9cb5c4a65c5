"""The state machine of limits, compared with the model at every step."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import headrace
from tests.model.harness import GENERAL_PATH, START_MS, Twin
from tests.model.limits.model import LEASE, Job, Limit, Model

QUEUES = ("one", "two")
RATES = {None: None, "1/s": (1, 1000), "3/2s": (3, 2000), "0/s": (0, 1000), "1/m": (1, 60_000)}

KEYS = ("", "a", "b", "c")
THROTTLES = ((), (), ("x",), ("y",), ("x", "y"))
CONCURRENCIES = (None, 0, 1, 2, 3)
PRIORITIES = (0, 0, 0, -1, 5)

queues = st.sampled_from(QUEUES)
keys = st.sampled_from(KEYS)
throttles = st.sampled_from(THROTTLES)
concurrencies = st.sampled_from(CONCURRENCIES)
rates = st.sampled_from(list(RATES))
priorities = st.sampled_from(PRIORITIES)
which = st.integers(0, 9)


class Machine(RuleBasedStateMachine):
    """Two queues that share two throttles."""

    def __init__(self, url: str, fault: dict[str, str] | None = None) -> None:
        super().__init__()
        self.url = url
        self.fault = fault or {}

    @initialize(swaps=st.sampled_from([{}, GENERAL_PATH]), fair=st.booleans(), lanes=st.booleans())
    def open(self, *, swaps: dict[str, str], fair: bool, lanes: bool) -> None:
        self.twin = Twin(self.url, Model(START_MS), swaps | self.fault)
        self.hr, self.model = self.twin.hr, self.twin.model
        self.leases: dict[str, headrace.Lease] = {}
        self.made = 0
        for name in QUEUES:
            self.model.fair[name] = fair
            self.model.queue_limits[name] = Limit()
            self.model.key_limits[name] = (None, None)
            self.hr.queue(name).configure(lease=LEASE / 1000, retries=None)
            if fair:
                self.hr.queue(name).configure(fair=True)
            elif lanes:
                self.limit_keys(name, 2, None)

    # limits

    @rule(queue=queues, concurrency=concurrencies, rate=rates)
    def limit_queue(self, queue: str, concurrency: int | None, rate: str | None) -> None:
        self.hr.queue(queue).configure(concurrency=concurrency, rate=rate)
        limit = self.model.queue_limits[queue]
        limit.concurrency = concurrency
        limit.change_rate(RATES[rate], self.model.now)

    @rule(queue=queues, concurrency=concurrencies, rate=rates)
    def limit_keys(self, queue: str, concurrency: int | None, rate: str | None) -> None:
        self.hr.queue(queue).configure(key_concurrency=concurrency, key_rate=rate)
        self.model.limit_keys(queue, concurrency, RATES[rate])

    @rule(name=st.sampled_from("xy"), concurrency=concurrencies, rate=rates)
    def throttle(self, name: str, concurrency: int | None, rate: str | None) -> None:
        self.hr.throttles.set(name, concurrency=concurrency, rate=rate)
        limit = self.model.throttles.setdefault(name, Limit())
        limit.concurrency = concurrency
        limit.change_rate(RATES[rate], self.model.now)

    @rule(name=st.sampled_from("xy"))
    def end_throttle(self, name: str) -> None:
        assert self.hr.throttles.delete(name) == (name in self.model.throttles)
        self.model.throttles.pop(name, None)

    # jobs

    @rule(queue=queues, key=keys, names=throttles, priority=priorities, count=st.integers(1, 4))
    def put(self, queue: str, key: str, names: tuple[str, ...], priority: int, count: int) -> None:
        for _ in range(count):
            self.made += 1
            job_id = f"j{self.made}"
            options: dict[str, Any] = {"key": key} if key else {}
            self.hr.queue(queue).put(
                0, id=job_id, priority=priority, throttles=names or None, **options
            )
            job = Job(job_id, queue, key, names, priority, 0)
            self.model.wait(job, anew=True)
            self.model.jobs[job_id] = job

    @rule(queue=queues, count=st.integers(1, 3))
    def put_plainly(self, queue: str, count: int) -> None:
        for job_id in self.hr.queue(queue).put_many([0] * count):
            job = Job(job_id, queue, "", (), 0, 0)
            self.model.wait(job, anew=True)
            self.model.jobs[job_id] = job

    @rule(queue=queues, count=st.integers(1, 5))
    def pop(self, queue: str, count: int) -> None:
        popped = self.hr.queue(queue).pop("ada", count=count)
        assert [lease.id for lease in popped] == self.model.pop(queue, count)
        self.leases |= {lease.id: lease for lease in popped}
        self.check_running(queue)

    @rule(queue=queues)
    def pop_all(self, queue: str) -> None:
        self.pop(queue, 100)

    def held(self, number: int) -> Job | None:
        running = [job for job in self.model.jobs.values() if job.state == "running"]
        return running[number % len(running)] if running else None

    @rule(number=which)
    def complete(self, number: int) -> None:
        if job := self.held(number):
            self.leases[job.id].complete()
            self.model.leave(job, "complete")

    @rule(number=which)
    def heartbeat(self, number: int) -> None:
        if job := self.held(number):
            self.leases[job.id].heartbeat()
            job.deadline = self.model.now + LEASE

    @rule(number=which, position=st.sampled_from(["front", "back"]))
    def release(self, number: int, position: str) -> None:
        if job := self.held(number):
            self.leases[job.id].release(position=position)
            self.model.wait(job, anew=position == "back")

    @rule(number=which)
    def cancel(self, number: int) -> None:
        live = [job for job in self.model.jobs.values() if job.state != "complete"]
        if live:
            job = live[number % len(live)]
            self.hr.cancel(job.id)
            del self.model.jobs[job.id]
            self.model.leave(job, "gone")

    @rule(number=which, queue=queues)
    def requeue(self, number: int, queue: str) -> None:
        jobs = list(self.model.jobs.values())
        if jobs:
            job = jobs[number % len(jobs)]
            self.hr.requeue(job.id, queue)
            if job.state == "waiting" and job.queue == queue:
                # The job moves to the back of its lane, and the lane keeps its turn.
                job.seq = self.model.tick()
            else:
                self.model.leave(job, "gone")
                job.queue = queue
                self.model.wait(job, anew=True)

    @rule(number=which, priority=priorities)
    def prioritise(self, number: int, priority: int) -> None:
        live = [job for job in self.model.jobs.values() if job.state != "complete"]
        if live:
            job = live[number % len(live)]
            self.hr.prioritise(job.id, priority)
            job.priority = priority

    @rule(ms=st.sampled_from([1, 333, 500, 1000, LEASE, 20_000]))
    def tick(self, ms: int) -> None:
        self.twin.tick(ms)

    # comparison

    def check_running(self, queue: str) -> None:
        """Assert that the same jobs run on the server and in the model, which keeps to limits."""
        live = self.model.jobs.values()
        expected = {job.id for job in live if job.queue == queue and job.state == "running"}
        found = self.hr.queue(queue).jobs("running", count=1000).jobs
        assert {job.id for job in found} == expected

    def teardown(self) -> None:
        with self.twin:
            assert self.hr.audit().problems == []
            for name in QUEUES:
                self.pop(name, 100)
            for name in QUEUES:
                self.hr.queue(name).delete()
            left = [key for key in self.keys() if key.partition(":")[0] in LANES]
            assert left == []

    def keys(self) -> list[str]:
        [names] = self.hr.core.transport.send([(0, ("KEYS", self.hr.core.key(0, "*")))])
        return [name.decode().partition("}:")[2] for name in names]


LANES = {"lane", "lanes", "turns", "parked", "gated", "gate"}
