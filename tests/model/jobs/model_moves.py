"""The transitions of jobs in the model, with their events, history and notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from tests.model.jobs.model_parts import DAY, Day, Event, Job, Rules, Session, in_order
from tests.model.jobs.model_tags import Ties

DUTIES_A_CALL = 16

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound="Moves")


def operation(method: Callable[Concatenate[M, P], T]) -> Callable[Concatenate[M, P], T]:
    """Run one call of the server; a call that changes something also does some housekeeping."""

    @wraps(method)
    def call(self: M, /, *args: P.args, **kwargs: P.kwargs) -> T:
        before = len(self.events)
        self.tidied, self.crowded, self.woken, self.told, self.ended = (
            False,
            set(),
            Counter(),
            [],
            [],
        )
        self.coming = {}
        answer = method(self, *args, **kwargs)
        if len(self.events) > before:
            self.tidy()
        for queue in sorted(self.crowded):
            self.retain(queue)
        return answer

    return call


class Moves(Ties):
    """The whole state, in plain collections."""

    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.queues: dict[str, Rules] = {}
        self.stored: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, Session] = {}
        self.days: dict[tuple[int, str], Day] = {}
        self.agenda: dict[str, float] = {}
        self.pushed: dict[str, list[str]] = {}
        self.taken_in = 0
        self.events: list[Event] = []
        self.tidied = False
        self.crowded: set[str] = set()
        self.woken: Counter[str] = Counter()
        self.told: list[tuple[str, ...]] = []
        self.ended: list[str] = []
        self.coming: dict[str, float] = {}

    def rules(self, queue: str) -> Rules:
        return self.queues.get(queue) or Rules()

    def listed(self, queue: str, state: str) -> list[Job]:
        """Return the jobs of a queue in a state, in the order of that state."""
        every = self.jobs.values()
        return in_order(
            state,
            [job for job in every if job.queue == queue and job.state == state and job.kept],
        )

    def held_by(self, worker: str, queue: str | None = None) -> list[Job]:
        """Return the jobs that the server reclaims if the worker dies, by queue and id."""
        held = [job for job in self.jobs.values() if job.state == "running" and job.tied]
        mine = [job for job in held if job.worker == worker and queue in (None, job.queue)]
        return sorted(mine, key=lambda job: (job.queue, job.id))

    # side effects of a transition

    def happen(self, kind: str, job: Job, wait: int | None = None, run: int | None = None) -> int:
        """Add an event; its number is the newest position of any queue."""
        worker = job.ended_by if job.state == "complete" else job.worker
        about = (job.id, job.queue, job.attempt, worker, job.priority)
        # The size of an empty payload is given.
        told = job.news if self.rules(job.queue).log_has_data else job.news and None
        self.events.append(Event(kind, *about, wait, run, self.now, told))
        job.news = None
        if job.tracked:
            self.told.append(("tracked:", kind, job.id, str(len(self.events))))
        return len(self.events)

    def remember(self, job: Job, outcome: str) -> None:
        """Keep the first outcome and the newest outcomes in the history."""
        limit = self.rules(job.queue).history
        if limit:
            while len(job.past) >= limit:
                del job.past[min(1, len(job.past) - 1)]
            job.past.append(outcome)

    def today(self, queue: str) -> Day | None:
        """Return today's statistics, and set the times when they expire."""
        if not self.rules(queue).stats:
            return None
        number = self.now // DAY
        self.agenda.setdefault(f"stats:{number}:{queue}", (number + 31) * DAY)
        self.agenda.setdefault(f"histogram:{number}:{queue}", (number + 8) * DAY)
        return self.days.setdefault((number, queue), Day())

    def tell_holder(self, job: Job, what: str) -> None:
        self.told.append((f"worker:{job.worker}", what, job.id, str(job.attempt)))

    # transitions

    def line_up(self, job: Job, delay: int) -> None:
        job.worker, job.since, job.moment = "", self.now + delay, self.now + delay
        job.state = "scheduled" if delay else "waiting"
        self.woken[job.queue] += not delay
        if delay:
            self.expect(job)

    def expect(self, job: Job) -> None:
        """Notify waiting workers if no other job is due earlier."""
        self.coming[job.queue] = min(self.coming.get(job.queue, job.moment), job.moment)

    def join(self, job: Job, queue: str, seq: int, delay: int) -> None:
        self.queues.setdefault(queue, Rules())
        job.queue, job.seq, job.put_at, job.kept = queue, seq, self.now, True
        job.remaining, job.releases, job.failure = job.retries, 0, None
        self.take_claim(job)
        self.line_up(job, delay)

    def depart(self, job: Job) -> None:
        self.release_claim(job)
        job.first = None
        if job.state == "running":
            self.tell_holder(job, "lost")
        if job.state == "complete":
            self.drop_result(job)
        if job.state != "failed":
            self.remember(job, "completed" if job.state == "complete" else "moved")
        job.worker = job.ended_by = ""

    def grant(self, job: Job, worker: str, secret: str, deadline: float, waited: int) -> None:
        if day := self.today(job.queue):
            day.wait.append(max(0, waited))
        self.forget_start(job)
        job.attempt, job.first = job.attempt + 1, None
        job.worker, job.since, job.token = worker, self.now, f"{job.attempt}.{secret}"
        self.happen("popped", job, wait=waited)
        if self.rules(job.queue).removes:
            self.happen("completed", job)
            self.drop(job)
        else:
            job.state, job.moment, job.tied = "running", deadline, worker in self.sessions

    def give_back(self, job: Job, kind: str, position: str = "front", delay: int = 0) -> None:
        number = self.happen(kind, job, run=self.now - job.since)
        self.remember(job, kind)
        if position == "back":
            job.seq = number
        self.line_up(job, delay)

    def lose(self, job: Job) -> None:
        """Reclaim the job of a worker that is late or dead, which costs a retry."""
        self.tell_holder(job, "lost")
        if day := self.today(job.queue):
            day.retries += 1
        if job.exhausted:
            self.fail_job(job, "retries exhausted")
        else:
            self.use_retry(job)
            self.give_back(job, "lost")

    def use_retry(self, job: Job) -> None:
        if job.remaining is not None:
            job.remaining -= 1

    def fail_job(self, job: Job, kind: str) -> None:
        job.first = None
        self.happen("failed", job, run=self.now - job.since if job.state == "running" else None)
        self.remember(job, "failed")
        self.release_claim(job)
        job.failure, job.worker = (kind, job.worker), ""
        job.state, job.since, job.moment = "failed", self.now, self.now
        if day := self.today(job.queue):
            day.failures += 1
        self.ended.append(job.id)

    def complete_job(self, job: Job, result: str | None, next_queue: str | None, delay: int) -> str:
        run = self.now - job.since
        if day := self.today(job.queue):
            day.run.append(max(0, run))
        number = self.happen("completed", job, run=run)
        self.release_claim(job)
        if next_queue is not None:
            self.remember(job, "completed")
            self.join(job, next_queue, number, delay)
            return job.state
        rules = self.rules(job.queue)
        job.ended_by = job.worker
        job.state, job.worker, job.failure = "complete", "", None
        job.since = self.now
        job.moment = self.now
        job.kept = rules.keep_count > 0 and rules.keep_age > 0
        self.ended.append(job.id)
        if job.kept:
            self.crowded.add(job.queue)
        elif result is None:
            self.drop(job)
        if result is not None:
            ttl = rules.result_ttl if job.result_ttl is None else job.result_ttl
            job.result = result
            self.agenda[f"result:{job.id}"] = self.now + ttl
        return "complete"

    def cancel_job(self, job: Job) -> None:
        running = job.state == "running"
        if running:
            self.tell_holder(job, "cancelled")
        self.happen("cancelled", job, run=self.now - job.since if running else None)
        self.over(job)

    def over(self, job: Job) -> None:
        self.ended.append(job.id)
        self.forget_start(job)
        self.drop(job)

    def forget_start(self, job: Job) -> None:
        if job.start_by is not None:
            self.agenda.pop(f"start:{job.id}", None)
            job.start_by = None

    def drop_result(self, job: Job) -> None:
        job.result = None
        self.agenda.pop(f"result:{job.id}", None)

    # housekeeping

    def promote(self, queue: str) -> None:
        for job in self.listed(queue, "scheduled"):
            if job.moment <= self.now:
                self.happen("due", job)
                job.state = "waiting"
                self.woken[queue] += 1

    def end_session(
        self, worker: str, give_back: Callable[[Job], None], queue: str | None = None
    ) -> None:
        """End a session; the jobs of `queue` return first."""
        del self.sessions[worker]
        for job in sorted(self.held_by(worker), key=lambda job: job.queue != queue):
            if self.rules(job.queue).session == "none":
                job.tied = False
            else:
                give_back(job)

    def reclaim(self, queue: str | None = None) -> None:
        """Reclaim the jobs of the dead workers, of each worker those of `queue` first."""
        ends = sorted((session.ends, name) for name, session in self.sessions.items())
        for end, name in ends:
            if end <= self.now:
                self.end_session(name, self.lose, queue)

    def retained(self, queue: str) -> list[Job]:
        """Return the completed jobs that the retention limits allow."""
        rules, kept = self.rules(queue), self.listed(queue, "complete")
        young = [job for job in kept if job.moment > self.now - rules.keep_age]
        return young[max(0, len(young) - rules.keep_count) :]

    def has_result(self, job: Job) -> bool:
        """Return whether a job has a result that has not expired."""
        return job.result is not None and self.agenda[f"result:{job.id}"] > self.now

    def is_visible(self, job: Job) -> bool:
        """Return whether reads return a job; housekeeping may delete hidden jobs later."""
        if job.state != "complete":
            return True
        return job in self.retained(job.queue) or self.has_result(job)

    def retain(self, queue: str) -> None:
        staying = self.retained(queue)
        for job in self.listed(queue, "complete"):
            job.kept = job in staying
            if not job.kept and job.result is None:
                self.drop(job)
        if staying:
            self.agenda[f"complete:{queue}"] = staying[0].moment + self.rules(queue).keep_age

    def tidy(self) -> bool:
        """Do a bounded amount of the due work, once per call; return whether all of it is done."""
        if self.tidied:
            return True
        self.tidied = True
        due = sorted((at, name) for name, at in self.agenda.items() if at <= self.now)
        for _, name in due[:DUTIES_A_CALL]:
            self.agenda.pop(name, None)
            duty, _, about = name.partition(":")
            if duty == "complete":
                self.retain(about)
            elif duty in ("stats", "histogram"):
                self._forget_day(duty, about)
            elif about in self.jobs:
                self._job_is_due(duty, self.jobs[about])
        return len(due) < DUTIES_A_CALL

    def kept_day(self, number: int, queue: str) -> Day:
        """Return the statistics of a day without what is no longer kept."""
        day = self.days.get((number, queue), Day())
        if self._is_due(f"stats:{number}:{queue}"):
            return Day()
        return replace(day, detailed=False) if self._is_due(f"histogram:{number}:{queue}") else day

    def _is_due(self, entry: str) -> bool:
        return self.agenda.get(entry, self.now + 1) <= self.now

    def _forget_day(self, duty: str, about: str) -> None:
        number, _, queue = about.partition(":")
        if duty == "stats":
            del self.days[int(number), queue]
        else:
            self.days[int(number), queue].detailed = False

    def _job_is_due(self, duty: str, job: Job) -> None:
        if duty == "start" and job.waits and job.start_by is not None:
            self.happen("expired", job)
            self.over(job)
        elif duty == "result" and job.state == "complete":
            self.drop_result(job)
            if not job.kept:
                self.drop(job)
