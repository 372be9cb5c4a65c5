"""The model of all operations on jobs in plain Python, with the arguments of the scripts.

The model has only jobs, sessions and rules, and searches all of them in every call. It has no
sorted sets, no counters and no books. It returns the replies of the server, texts and numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from headrace.engine.settings import PROFILES, to_wire
from tests.model.jobs.model_moves import operation
from tests.model.jobs.model_parts import Event, Job, Session, rules_of
from tests.model.jobs.model_work import OPERATOR, Answer, Work

Ids = Sequence[tuple[str]]


class Model(Work):
    """The whole model; this class has operators, sessions and housekeeping."""

    # operators

    def _known(self, job_id: str, *states: str) -> Job | str:
        job = self.jobs.get(job_id)
        if job is None:
            return "NOT_FOUND"
        return job if job.state in states else f"WRONG_STATE {job.state}"

    @operation
    def cancel(self, rows: Ids) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self._known(job_id, "waiting", "scheduled", "running", "failed")
            if isinstance(job, Job):
                self.cancel_job(job)
                job = job.state
            answers.append(job)
        return answers

    def _matches(self, queue: str, data: str) -> list[Job]:
        states = ("blocked", "scheduled", "waiting", "running")
        every = [job for state in states for job in self.listed(queue, state)]
        return [job for job in every if job.data == data]

    @operation
    def cancel_matching(self, /, queue: str, data: str, **_: Any) -> list[str]:
        matches = self._matches(queue, data)
        for job in matches:
            self.cancel_job(job)
        if matches:
            self.told.append((f"queue:{queue}", f"cancelled {data}"))
        return ["", *(job.id for job in matches)]

    @operation
    def find_matching(self, /, queue: str, data: str, **_: Any) -> list[str]:
        matches = self._matches(queue, data)
        return ["", *(word for job in matches for word in (job.id, job.state))]

    @operation
    def timeout(self, rows: Ids) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self._known(job_id, "running")
            if isinstance(job, Job):
                self.tell_holder(job, "lost")
                job.first = inf
                self.give_back(job, "lost")
                job = job.state
            answers.append(job)
        return answers

    @operation
    def retry(self, rows: Ids, delay: int) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self._known(job_id, "failed")
            if isinstance(job, Job):
                job = self.refusal(job.queue, job.unique, job.id) or job
            if isinstance(job, Job):
                job.failure, job.remaining, job.releases = None, job.retries, 0
                job.seq = self.happen("unfailed", job)
                self.take_claim(job)
                self.line_up(job, delay)
                job = job.state
            answers.append(job)
        return answers

    @operation
    def requeue(self, rows: Ids, queue: str, delay: int) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self.jobs.get(job_id)
            if job is None:
                answers.append("NOT_FOUND")
                continue
            refused = self.refusal(queue or job.queue, job.unique, job.id)
            if refused:
                answers.append(refused)
                continue
            self.depart(job)
            job.queue = queue or job.queue
            # The event has the size of the payload, which shows that it is empty.
            job.news = None if job.data else ""
            self.join(job, job.queue, self.happen("put", job), delay)
            answers.append(job.state)
        return answers

    @operation
    def prioritise(self, rows: Ids, priority: float) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self._known(job_id, "waiting", "scheduled", "running", "failed")
            if isinstance(job, Job):
                job.priority = priority
                job.first = None
                self.happen("prioritised", job)
                job = job.state
            answers.append(job)
        return answers

    @operation
    def result(self, id: str) -> tuple[str, int, str, str]:  # noqa: A002
        job = self.jobs.get(id)
        if job is None or not self.is_visible(job):
            return ("", 0, "", "")
        if job.result is None or not self.has_result(job):
            return (job.state, 0, "", "")
        return (job.state, 1, job.result, job.data)

    @operation
    def take_result(self, id: str) -> tuple[str, int, str, str]:  # noqa: A002
        answer = self.result(id)
        job = self.jobs.get(id)
        if job and answer[1]:
            self.drop_result(job)
            if not job.kept:
                self.drop(job)
        return answer

    # tags, tracked jobs

    @operation
    def tag(self, rows: Ids, names: list[str], most: int) -> list[Any]:
        answers: list[Any] = []
        for (job_id,) in rows:
            job = self.jobs.get(job_id)
            wanted = [*dict.fromkeys([*job.tags, *names])] if job else []
            if job is None:
                answers.append("NOT_FOUND")
            elif len(wanted) > max(most, len(job.tags)):
                answers.append(f"TOO_MANY tags {most}")
            else:
                answers.append(self._retag(job, wanted))
        return answers

    @operation
    def untag(self, rows: Ids, names: list[str]) -> list[Any]:
        answers: list[Any] = []
        for (job_id,) in rows:
            job = self.jobs.get(job_id)
            if job is None:
                answers.append("NOT_FOUND")
            else:
                answers.append(self._retag(job, [tag for tag in job.tags if tag not in names]))
        return answers

    def _retag(self, job: Job, wanted: list[str]) -> list[str]:
        if wanted != [*job.tags]:
            self.set_tags(job, wanted)
            self.happen("tagged", job)
        return wanted

    @operation
    def track(self, rows: Ids, most: int) -> list[Answer]:
        answers: list[Answer] = []
        for (job_id,) in rows:
            job = self.jobs.get(job_id)
            if job is None:
                answers.append("NOT_FOUND")
            elif job_id not in self.tracked_since and len(self.tracked_since) >= most:
                answers.append(f"TOO_MANY tracked {most}")
            else:
                if not job.tracked:
                    self.happen_to_tracking("tracked", job_id)
                    job.tracked, self.tracked_since[job_id] = True, self.now
                answers.append(job.state)
        return answers

    @operation
    def untrack(self, rows: Ids) -> int:
        for (job_id,) in rows:
            if self.tracked_since.pop(job_id, None) is not None:
                self.happen_to_tracking("untracked", job_id)
            if job_id in self.jobs:
                self.jobs[job_id].tracked = False
        return 1

    # sessions

    def _alive(self, worker: str, token: str) -> Session | None:
        session = self.sessions.get(worker)
        return session if session and session.token == token and session.ends > self.now else None

    @operation
    def session_start(self, worker: str, token: str, ttl: int, about: str) -> Answer:  # noqa: ARG002
        if worker in self.sessions:
            self.end_session(worker, self.lose)
        self.sessions[worker] = Session(token, ttl, self.now + ttl if ttl >= 0 else inf)
        return 1

    @operation
    def session_renew(self, worker: str, token: str) -> Answer:
        session = self._alive(worker, token)
        if session is None:
            return "SESSION_ENDED"
        if session.ttl >= 0:
            session.ends = self.now + session.ttl
        return session.ttl

    @operation
    def session_serve(self, worker: str, token: str, queue: str) -> Answer:
        session = self._alive(worker, token)
        if session is None:
            return "SESSION_ENDED"
        session.serves.add(queue)
        return len(self.listed(queue, "waiting"))

    @operation
    def session_unserve(self, worker: str, token: str, queue: str) -> Answer:
        session = self._alive(worker, token)
        if session is None:
            return "SESSION_ENDED"
        session.serves.discard(queue)
        for job in self.held_by(worker, queue):
            self.tell_holder(job, "lost")
            self.give_back(job, "released")
        return 1

    @operation
    def session_end(self, worker: str, token: str) -> Answer:
        session = self.sessions.get(worker)
        if session is None or token not in (session.token, OPERATOR):
            return "SESSION_ENDED"
        self.end_session(worker, self.lose if token == OPERATOR else self._hand_in)
        return 1

    def _hand_in(self, job: Job) -> None:
        self.tell_holder(job, "lost")
        self.give_back(job, "lost")

    # queues and housekeeping

    @operation
    def sweep(self, rows: Ids) -> int:
        self.reclaim()
        for (queue,) in rows:
            self.promote(queue)
            self.take_in(queue)
            self.woken[queue] += sum(
                job.moment <= self.now for job in self.listed(queue, "running")
            )
            if self.retained(queue) != self.listed(queue, "complete"):
                self.retain(queue)
        return int(self.tidy())

    def happen_to_tracking(self, kind: str, job_id: str) -> None:
        """Append the event of a job that is tracked or no longer tracked, and may be deleted."""
        job = self.jobs.get(job_id) or Job(job_id, "", None)
        worker = job.ended_by if job.state == "complete" else job.worker
        about = (job_id, job.queue, job.attempt, worker, job.priority)
        self.events.append(Event(kind, *about, None, None, self.now, None))

    @operation
    def configure(self, /, queue: str, profile: str | None, **settings: Any) -> None:
        before = self.stored.get(queue, {})
        after = before.copy()
        if profile is not None:
            after = {"paused": before["paused"]} if "paused" in before else {}
            after |= {name: to_wire(name, value) for name, value in PROFILES[profile].items()}
        after |= settings
        self.stored[queue] = after
        if after != before:
            about = ("configured", "", queue, 0, "", 0, None, None, self.now, None)
            self.events.append(Event(*about))
        rules = self.rules(queue)
        if profile is not None:
            rules = replace(rules_of(profile), paused=rules.paused)
        self.queues[queue] = replace(rules, **settings)
        self.woken[queue] += settings.get("paused") is False

    @operation
    def delete_queue(self, queue: str, at_most: int) -> Answer:  # noqa: ARG002 - there are never more
        if queue not in self.queues and not self.pushed.get(queue):
            return "QUEUE_NOT_FOUND"
        for state in ("running", "waiting", "scheduled", "failed"):
            for job in self.listed(queue, state):
                self.cancel_job(job)
        for job in [job for job in self.jobs.values() if job.queue == queue]:
            self.drop_result(job)
            self.drop(job)
        self.queues.pop(queue, None)
        self.stored.pop(queue, None)
        self.pushed.pop(queue, None)
        self.agenda.pop(f"complete:{queue}", None)
        self.days = {key: day for key, day in self.days.items() if key[1] != queue}
        for name in [name for name in self.agenda if name.endswith(f":{queue}")]:
            del self.agenda[name]
        self.told.append((f"queue:{queue}", "deleted"))
        return 1

    # views

    def counts(self, queue: str) -> dict[str, int]:
        """Return the number of jobs of a queue in each state, late and due."""
        jobs = [job for job in self.jobs.values() if job.queue == queue and job.kept]
        found = Counter(job.state for job in jobs)
        found["complete"] = len(self.retained(queue))
        past = [job.state for job in jobs if job.moment <= self.now]
        return {**found, "late": past.count("running"), "due": past.count("scheduled")}

    def notices(self) -> list[tuple[str, ...]]:
        """Return the notices that the last call published."""
        work = [(f"queue:{queue}", f"work {n}") for queue, n in self.woken.items() if n > 0]
        work += [
            (f"queue:{queue}", "coming")
            for queue, at in self.coming.items()
            if at == min((job.moment for job in self.listed(queue, "scheduled")), default=None)
        ]
        return sorted(work + self.told + [("ended:", job_id) for job_id in self.ended])

    def moments(self) -> list[int]:
        """Return the future times at which jobs or sessions change without a call."""
        jobs = [job.moment for job in self.jobs.values() if job.state in ("running", "scheduled")]
        ends = [session.ends for session in self.sessions.values()]
        every = {*jobs, *ends, *self.agenda.values()} - {inf}
        return sorted(int(moment) for moment in every if moment > self.now)
