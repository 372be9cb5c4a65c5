"""The model of limits and fair turns, without lanes and gates: every pop looks at every job."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

LEASE = 10_000


@dataclass(slots=True)
class Job:
    """The parts of a job that limits need."""

    id: str
    queue: str
    key: str
    throttles: tuple[str, ...]
    priority: float
    seq: int
    state: str = "waiting"
    deadline: float = math.inf

    @property
    def lane(self) -> tuple[str, str, tuple[str, ...]]:
        return self.queue, self.key, self.throttles


@dataclass(slots=True)
class Limit:
    """How many jobs may run at once and start per interval, and when the rate is free again."""

    concurrency: int | None = None
    rate: tuple[int, int] | None = None
    used_until: int = 0

    def starts_at(self, now: int) -> float:
        """Return the time from which the rate allows the next job to start."""
        if not self.rate:
            return now
        starts, span = self.rate
        if starts == 0:
            return math.inf
        step = 1000 * span // starts
        return math.ceil((max(1000 * now, self.used_until) + step - starts * step) / 1000)

    def change_rate(self, rate: tuple[int, int] | None, now: int) -> None:
        """Change the rate; the used tokens refill at the new rate."""
        before, self.rate = self.rate, rate
        if before == rate:
            return
        if rate is None or before is None:
            self.used_until = 0
        elif rate[0]:
            step = 1000 * rate[1] // rate[0]
            used = max(0, self.used_until - 1000 * now)
            tokens = used / (1000 * before[1] // before[0] if before[0] else step)
            self.used_until = 1000 * now + math.ceil(min(rate[0], tokens) * step)

    def use(self, now: int) -> None:
        if self.rate:
            starts, span = self.rate
            self.used_until = max(1000 * now, self.used_until) + 1000 * span // starts


@dataclass
class Model:
    """Queues with limits, throttles, and the jobs."""

    now: int
    fair: dict[str, bool] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    queue_limits: dict[str, Limit] = field(default_factory=dict)
    key_limits: dict[str, tuple[int | None, tuple[int, int] | None]] = field(default_factory=dict)
    key_used: dict[tuple[str, str], Limit] = field(default_factory=dict)
    throttles: dict[str, Limit] = field(default_factory=dict)
    turns: dict[tuple[str, str, tuple[str, ...]], int] = field(default_factory=dict)
    counter: int = 0

    def tick(self) -> int:
        self.counter += 1
        return self.counter

    # the reason why a job waits

    def limits_of(self, job: Job) -> list[tuple[Limit, list[Job]]]:
        """Return every limit of a job with the jobs that run under it."""
        running = [one for one in self.jobs.values() if one.state == "running"]
        found = [(self.queue_limits[job.queue], [one for one in running if one.queue == job.queue])]
        if job.key:
            same = [one for one in running if one.queue == job.queue and one.key == job.key]
            found.append((self.key_limit(job), same))
        for name in job.throttles:
            limit = self.throttles.get(name, Limit())
            found.append((limit, [one for one in running if name in one.throttles]))
        return found

    def key_limit(self, job: Job) -> Limit:
        limit = self.key_used.setdefault((job.queue, job.key), Limit())
        limit.concurrency, limit.rate = self.key_limits[job.queue]
        return limit

    def limit_keys(self, queue: str, concurrency: int | None, rate: tuple[int, int] | None) -> None:
        for (of_queue, _), limit in self.key_used.items():
            if of_queue == queue:
                limit.rate = self.key_limits[queue][1]
                limit.change_rate(rate, self.now)
        self.key_limits[queue] = (concurrency, rate)

    def may_start(self, job: Job) -> bool:
        return all(
            (limit.concurrency is None or self.unexpired(behind) < limit.concurrency)
            and limit.starts_at(self.now) <= self.now
            for limit, behind in self.limits_of(job)
        )

    def unexpired(self, jobs: list[Job]) -> int:
        return sum(job.deadline > self.now for job in jobs)

    # pop

    def pop(self, queue: str, count: int) -> list[str]:
        popped: list[str] = []
        held_back: list[Job] = []
        for job in self.late(queue):
            if len(popped) < count and self.queue_may_start(queue):
                if self.may_start(job):
                    self.start(job, popped)
                else:
                    held_back.append(job)
        # All jobs return in one step, so a lane that was empty takes the number of its first job.
        for job in sorted(held_back, key=self.position):
            self.wait(job)
        while len(popped) < count:
            able = [job for job in self.first_of_lanes(queue) if self.may_start(job)]
            if not able:
                break
            self.start(min(able, key=self.order), popped)
        return popped

    def queue_may_start(self, queue: str) -> bool:
        probe = Job("", queue, "", (), 0, 0)
        return self.may_start(probe)

    def late(self, queue: str) -> list[Job]:
        running = [job for job in self.jobs.values() if job.queue == queue]
        late = [job for job in running if job.state == "running" and job.deadline <= self.now]
        return sorted(late, key=lambda job: (job.deadline, *self.position(job)))

    def waiting(self, queue: str) -> list[Job]:
        waits = [j for j in self.jobs.values() if j.queue == queue and j.state == "waiting"]
        return sorted(waits, key=self.position)

    def position(self, job: Job) -> tuple[float, int]:
        return job.priority, job.seq

    def first_of_lanes(self, queue: str) -> list[Job]:
        """Return the first job of each lane; the same limits apply to all jobs of a lane."""
        lanes = {job.lane: job for job in reversed(self.waiting(queue))}
        return list(lanes.values())

    def order(self, job: Job) -> tuple[float, int]:
        return job.priority, self.turns[job.lane] if self.fair[job.queue] else job.seq

    def start(self, job: Job, popped: list[str]) -> None:
        job.state = "running"
        job.deadline = self.now + LEASE
        for limit, _ in self.limits_of(job):
            limit.use(self.now)
        self.turns[job.lane] = self.tick()
        if not self.lane_waits(job):
            del self.turns[job.lane]
        popped.append(job.id)

    def lane_waits(self, job: Job) -> bool:
        return any(one.lane == job.lane for one in self.waiting(job.queue))

    def wait(self, job: Job, *, anew: bool = False) -> None:
        """Let a job wait at its old position, or at the back as if it were new."""
        seq = self.tick()
        if anew:
            job.seq = seq
        if not self.lane_waits(job):
            self.turns[job.lane] = job.seq
        job.state = "waiting"
        job.deadline = math.inf

    def leave(self, job: Job, state: str) -> None:
        job.state = state
        if job.lane in self.turns and not self.lane_waits(job):
            del self.turns[job.lane]
