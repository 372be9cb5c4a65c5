"""The operations of producers and workers in the model: put, pop, peek, and calls with a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from tests.model.jobs.model_moves import Moves, operation
from tests.model.jobs.model_parts import Job

ROUNDS = 4
OPERATOR = ""
LONGEST_NAME = 250

Answer = str | int
Options = dict[str, Any]


class Work(Moves):
    """The operations of producers and workers; an operator calls some of them without a token."""

    # The next due time if jobs that the last pop expired are included. The server may include
    # these jobs, because a client that pops too early does no harm.
    foreseen = -1

    # put

    @operation
    def put(
        self,
        rows: Sequence[tuple[str, str, str, Options]],
        queue: str,
        on_exists: str,
        options: Options,
    ) -> list[Answer]:
        policy = on_exists or self.rules(queue).on_exists
        return [
            self._put(queue, policy, (job_id, spare), data, {**options, **own})
            for job_id, spare, data, own in rows
        ]

    def _put(
        self, queue: str, policy: str, names: tuple[str, str], data: str, options: Options
    ) -> Answer:
        job_id, spare = names
        job, value = self.jobs.get(job_id), options.get("unique")
        if job is None:
            return self._put_new(queue, policy, job_id, data, options)
        if policy == "duplicate":
            refused = self.refusal(queue, value, spare)
            return refused or self._make(queue, spare, data, options, 2)
        if policy == "reject" or (policy == "replace" and job.state == "running"):
            return f"JOB_EXISTS {job.state}"
        if policy == "replace" and job.waits:
            return self.refusal(job.queue, value, job_id) or self._replace(job, data, options)
        return self.refusal(queue, value or job.unique, job_id) or self._move(
            job, queue, data, options
        )

    def _put_new(self, queue: str, policy: str, job_id: str, data: str, options: Options) -> Answer:
        other = self.other_holder(queue, options.get("unique"), job_id)
        if other is not None and policy != "replace":
            return f"UNIQUE_TAKEN {other.state} {other.id}"
        if other is not None and other.state != "running":
            self._replace(other, data, options)
            return f"={other.id}"
        if other is not None:
            self.release_claim(other)
            other.unique = None
        return self._make(queue, job_id, data, options, 1)

    def _move(self, job: Job, queue: str, data: str, options: Options) -> int:
        self.depart(job)
        job.queue = queue
        self._apply(job, data, options)
        self.join(job, queue, self.happen("put", job), options.get("delay", 0))
        return 3

    def _make(self, queue: str, job_id: str, data: str, options: Options, answer: int) -> int:
        job = Job(job_id, queue, self.rules(queue).retries)
        self.jobs[job_id] = job
        self._apply(job, data, options)
        self.join(job, queue, self.happen("put", job), options.get("delay", 0))
        return answer

    def _replace(self, job: Job, data: str, options: Options) -> int:
        self._apply(job, data, options)
        self.take_claim(job)
        self.happen("put", job)
        if "delay" in options:
            job.since = job.moment = self.now + options["delay"]
        if "retries" in options:
            job.remaining = job.retries
        if options.get("delay", 0 if job.state == "waiting" else 1) > 0:
            job.state = "scheduled"
            self.expect(job)
        else:
            job.state = "waiting"
        self.woken[job.queue] += job.state == "waiting"
        return 4

    def _apply(self, job: Job, data: str, options: Options) -> None:
        job.get_data(data)
        job.priority = options.get("priority", job.priority)
        self.set_tags(job, options.get("tags", job.tags))
        if "unique" in options:
            self.release_claim(job)
            job.unique = options["unique"]
        if "retries" in options:
            job.retries = None if options["retries"] is False else options["retries"]
        job.result_ttl = options.get("result_ttl", job.result_ttl)
        self.forget_start(job)
        if "start_within" in options:
            job.start_by = self.now + options["start_within"]
            self.agenda[f"start:{job.id}"] = job.start_by

    def take_in(self, queue: str) -> None:
        """Turn pushed payloads into jobs, each under its own id or a new one."""
        for data in self.pushed.pop(queue, []):
            says_id = self.rules(queue).ingress == "id"
            job_id = (says_id and self._said_id(queue, data)) or self._new_id()
            if job_id not in self.jobs:
                self._make(queue, job_id, data, {}, 1)

    def _said_id(self, queue: str, data: str) -> str:
        job, own = self.jobs.get(data), self.jobs.get(f"{data}@{queue}")
        is_own = own is not None and own.queue == queue and own.data == data
        said = f"{data}@{queue}" if is_own or (job and job.queue != queue) else data
        return said if len(said) <= LONGEST_NAME else ""

    def _new_id(self) -> str:
        step = 1
        while True:
            self.taken_in += step
            if f"ingress-{self.taken_in}" not in self.jobs:
                return f"ingress-{self.taken_in}"
            step *= 2

    # pop

    @operation
    def pop(
        self,
        queue: str,
        worker: str,
        secret: str,
        count: int,
        lease: int,
        offer: int = 0,  # noqa: ARG002 - test_hand_over tests offers
    ) -> str | tuple[int, list[Job]]:
        rules, session = self.rules(queue), self.sessions.get(worker)
        if rules.session == "required" and not (
            session and session.ends > self.now and queue in session.serves
        ):
            return "SESSION_REQUIRED"
        self.reclaim(queue)
        self.promote(queue)
        scheduled = self.listed(queue, "scheduled")
        self.tidy()
        # Pushed payloads follow the jobs that wait already.
        if sum(job.priority <= 0 for job in self.listed(queue, "waiting")) < count:
            self.take_in(queue)
        self.foreseen = -1
        if rules.paused:
            return -1, []
        span = rules.lease if lease < 0 else lease
        deadline = inf if span is None else self.now + span
        granted: list[Job] = []

        def hand_out(job: Job, waited: float) -> None:
            self.grant(job, worker, secret, deadline, int(waited))
            granted.append(job)

        late = self._late(queue)
        done = self._fill(granted, count, late, lambda job: self._take_late(job, hand_out))
        if done:
            waiting = self.listed(queue, "waiting")
            done = self._fill(granted, count, waiting, lambda job: self._take(job, hand_out))
        self.woken[queue] -= len(granted)
        if not done or len(granted) == count:
            return 0, granted
        expired = [job for job in scheduled if job.id not in self.jobs]
        self.foreseen = self._due_in(queue, expired)
        return self._due_in(queue), granted

    def _fill(
        self, granted: list[Job], count: int, line: list[Job], take: Callable[[Job], None]
    ) -> bool:
        """Take jobs from a queue until there are enough or none is left, in bounded time."""
        for _ in range(ROUNDS):
            wanted = count - len(granted)
            part, line = line[:wanted], line[wanted:]
            for job in part:
                take(job)
            if len(part) < wanted or len(granted) == count:
                return True
        return False

    def _late(self, queue: str) -> list[Job]:
        late = [job for job in self.listed(queue, "running") if job.moment <= self.now]
        return sorted(late, key=lambda job: (job.moment, job.priority, job.seq))

    def _take_late(self, job: Job, hand_out: Callable[[Job, float], None]) -> None:
        deadline = job.moment
        self.lose(job)
        if job.state == "waiting":
            hand_out(job, self.now - deadline)

    def _take(self, job: Job, hand_out: Callable[[Job, float], None]) -> None:
        if job.start_by is not None and job.start_by <= self.now:
            self.happen("expired", job)
            self.over(job)
        else:
            hand_out(job, self.now - job.since)

    def _due_in(self, queue: str, and_of: Sequence[Job] = ()) -> int:
        jobs = [*self.listed(queue, "scheduled"), *self.listed(queue, "running"), *and_of]
        ends = [session.ends for session in self.sessions.values()]
        earliest = min([job.moment for job in jobs] + ends, default=inf)
        return -1 if earliest == inf else max(0, int(earliest) - self.now)

    @operation
    def prepare_peek(self, queue: str) -> int:
        self.reclaim(queue)
        self.promote(queue)
        self.take_in(queue)
        return 1

    @operation
    def peek(self, queue: str, count: int) -> tuple[int, list[str]]:
        moments = [job.moment for job in self.listed(queue, "scheduled")]
        moments += [session.ends for session in self.sessions.values()]
        is_early = bool(self.pushed.get(queue)) or min(moments, default=inf) <= self.now
        ready = [job for job in self._late(queue) if not job.exhausted]
        waiting = self.listed(queue, "waiting")
        ready += [job for job in waiting if job.start_by is None or job.start_by > self.now]
        return int(is_early), [job.id for job in ready[:count]]

    # with a token, or by an operator

    def _held(self, job_id: str, token: str) -> Job | str:
        job = self.jobs.get(job_id)
        if job is None:
            return "NOT_FOUND"
        if job.state == "running" and token in (job.token, OPERATOR):
            return job
        if token == OPERATOR:
            return f"WRONG_STATE {job.state}"
        return f"LEASE_LOST {job.state} {job.worker}"

    @operation
    def check_leases(self, rows: Sequence[tuple[str, str]]) -> list[Answer]:
        found = [(self.jobs.get(job_id), self._held(job_id, token)) for job_id, token in rows]
        return [
            "cancelled" if job is None else "held" if isinstance(held, Job) else "lost"
            for job, held in found
        ]

    @operation
    def heartbeat(self, rows: Sequence[tuple[str, str, str | None]], lease: int) -> list[Answer]:
        return [self._heartbeat(*row, lease) for row in rows]

    def _heartbeat(self, job_id: str, token: str, data: str | None, lease: int) -> Answer:
        job = self._held(job_id, token)
        if isinstance(job, str):
            return job
        span = self.rules(job.queue).lease if lease < 0 else lease
        job.moment = inf if span is None else self.now + span
        if data not in (None, job.data):
            job.get_data(data)
            self.happen("updated", job)
        return "inf" if job.moment == inf else int(job.moment)

    @operation
    def complete(
        self,
        rows: Sequence[tuple[str, str, str | None, str | None]],
        next_queue: str | None,
        delay: int,
    ) -> list[Answer]:
        answers: list[Answer] = []
        for job_id, token, result, data in rows:
            job = self._held(job_id, token)
            if isinstance(job, Job):
                if token == OPERATOR:
                    self.tell_holder(job, "lost")
                job.get_data(data)
                answers.append(self.complete_job(job, result, next_queue, delay))
            else:
                answers.append(job)
        return answers

    @operation
    def fail(
        self, rows: Sequence[tuple[str, str, str, str, str | None, int, str | None]]
    ) -> list[Answer]:
        return [self._fail(*row) for row in rows]

    def _fail(
        self,
        job_id: str,
        token: str,
        failure: str,
        _message: str,
        _traceback: str | None,
        retry_in: int,
        data: str | None,
    ) -> Answer:
        job = self._held(job_id, token)
        if token == OPERATOR and job not in ("NOT_FOUND", "WRONG_STATE complete"):
            job = self.jobs[job_id]
        if isinstance(job, str):
            return job
        job.get_data(data)
        if retry_in >= 0 and job.state == "running" and not job.exhausted:
            if day := self.today(job.queue):
                day.retries += 1
            self.use_retry(job)
            self.give_back(job, "retried", "back", retry_in)
            return job.state
        if token == OPERATOR and job.state == "running":
            self.tell_holder(job, "lost")
        self.fail_job(job, failure)
        return "failed"

    @operation
    def release(
        self,
        rows: Sequence[tuple[str, str]],
        position: str,
        delay: int,
        reason: str,  # noqa: ARG002
    ) -> list[Answer]:
        answers: list[Answer] = []
        for job_id, token in rows:
            job = self._held(job_id, token)
            if isinstance(job, Job):
                if token == OPERATOR:
                    self.tell_holder(job, "lost")
                job.releases += 1
                self.give_back(job, "released", position or self.rules(job.queue).returns, delay)
                job = job.state
            answers.append(job)
        return answers
