"""The model of dependencies on jobs and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

MARK = "\0"
POLICIES = ("wait", "run", "cancel", "fail")
TO_BE_DONE = ("waiting", "scheduled", "blocked")
FAILED = {"failed": "dependency failed", "gone": "dependency gone"}


@dataclass
class Job:
    """A job; `depends` has the dependencies that block it."""

    state: str
    queue: str
    due: int = 0
    policy: str = "wait"
    group: str = ""
    start_by: int | None = None
    failure: str = ""
    depends: list[str] = field(default_factory=list)


class Model:
    """A shard; every operation finishes at once."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.jobs: dict[str, Job] = {}
        self._ends: list[tuple[str, str]] = []

    # queries

    def members(self, group: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.group == group and job.state != "complete"]

    def dependents(self, parent: str) -> list[str]:
        return [name for name, job in self.jobs.items() if parent in job.depends]

    def _is_open(self, parent: str, policy: str) -> bool:
        if parent[0] == MARK:
            return any(policy != "run" or job.state != "failed" for job in self.members(parent[1:]))
        job = self.jobs.get(parent)
        return bool(
            job and job.state != "complete" and not (job.state == "failed" and policy == "run")
        )

    def _has_failed(self, parent: str) -> bool:
        if parent[0] == MARK:
            return any(job.state == "failed" for job in self.members(parent[1:]))
        return self.jobs[parent].state == "failed"

    def _goes_round(self, name: str, group: str, parents: Iterable[str]) -> bool:
        seen: set[str] = set()
        line = list(parents)
        while line:
            one = line.pop()
            if one == name or (one[0] == MARK and one[1:] == group):
                return True
            if one not in seen:
                seen.add(one)
                # Ignore the present group of the job `name`, because the call may change it.
                line += [
                    parent for parent in self._parents(one) if one[0] != MARK or parent != name
                ]
        return False

    def _parents(self, name: str) -> Iterator[str]:
        if name[0] == MARK:
            yield from (one for one, job in self.jobs.items() if job in self.members(name[1:]))
        elif name in self.jobs:
            yield from self.jobs[name].depends

    # operations; a refusal is a text in capitals

    def put(self, name: str, queue: str, on_exists: str, **given: Any) -> Any:
        answer = self._put(name, queue, on_exists, **given)
        self._follow()
        return answer

    def put_all(self, names: list[str], queue: str, **given: Any) -> list[Any]:
        """Put new jobs; refuse those that depend on a refused one."""
        answers: list[Any] = []
        for name in names:
            refused = {*names[: len(answers)]} - self.jobs.keys()
            unmade = refused.intersection(given.get("depends_on", ()))
            answers.append(
                "DEPENDENCY_REFUSED unmade" if unmade else self._put(name, queue, "move", **given)
            )
        self._follow()
        return answers

    def _put(self, name: str, queue: str, on_exists: str, **given: Any) -> Any:
        job = self.jobs.get(name)
        replaces = bool(job and on_exists == "replace" and job.state in TO_BE_DONE)
        if job and (on_exists == "reject" or (on_exists == "replace" and job.state == "running")):
            return f"JOB_EXISTS {job.state}"
        parents = given.get("depends_on")
        if parents is None and job and replaces and job.state == "blocked":
            parents = list(job.depends)
        group = given.get("group", job.group if job else "")
        if parents is not None and self._goes_round(name, group, parents):
            return "DEPENDENCY_REFUSED circle"
        before = job or Job("new", queue)
        if job and group != job.group and job.group:
            old = job.group
            job.group = ""
            self._ends.append((MARK + old, "completed"))
        delay = given.get("delay")
        due = before.due if replaces and delay is None else self.now + (delay or 0)
        start = given.get("start_within")
        self.jobs[name] = after = Job(
            "new",
            before.queue if replaces else queue,
            due,
            given.get("if_fails", before.policy),
            group,
            None if start is None else self.now + start,
        )
        self._line_up(after, parents or [])
        return 4 if replaces else 3 if job else 1

    def _line_up(self, job: Job, parents: list[str]) -> None:
        job.depends = []
        job.failure = ""
        job.state = "scheduled" if job.due > self.now else "waiting"
        self._block(job, parents)

    def _block(self, job: Job, parents: list[str]) -> None:
        open_ones = [parent for parent in parents if self._is_open(parent, job.policy)]
        for parent in open_ones:
            if self._has_failed(parent):
                self._ends.append((parent, "failed"))
        job.depends += [parent for parent in open_ones if parent not in job.depends]
        if job.depends:
            job.state = "blocked"

    def depend(self, name: str, parents: list[str]) -> str:
        job = self.jobs.get(name)
        if job is None:
            return "NOT_FOUND"
        if job.state not in TO_BE_DONE:
            return f"WRONG_STATE {job.state}"
        if self._goes_round(name, job.group, parents):
            return "DEPENDENCY_REFUSED circle"
        self._block(job, parents)
        state = job.state
        self._follow()
        return state

    def undepend(self, name: str, parents: list[str] | None) -> str:
        job = self.jobs.get(name)
        if job is None:
            return "NOT_FOUND"
        if job.state != "blocked":
            return f"WRONG_STATE {job.state}"
        job.depends = [one for one in job.depends if parents is not None and one not in parents]
        self._unlock_if_free(job)
        return job.state

    def _unlock_if_free(self, job: Job) -> None:
        if not job.depends:
            job.state = "scheduled" if job.due > self.now else "waiting"

    def pop_all(self, queue: str) -> list[str]:
        self._promote(queue)
        popped = [
            name for name, job in self.jobs.items() if job.state == "waiting" and job.queue == queue
        ]
        for name in popped:
            self.jobs[name].state = "running"
            self.jobs[name].start_by = None
        return popped

    def _promote(self, queue: str) -> None:
        for job in self.jobs.values():
            if job.state == "scheduled" and job.queue == queue and job.due <= self.now:
                job.state = "waiting"

    def finish(self, names: list[str]) -> list[str]:
        answers = [self._finish(name) for name in names]
        self._follow()
        return answers

    def _finish(self, name: str) -> str:
        job = self.jobs.get(name)
        if job is None or job.state != "running":
            return f"WRONG_STATE {job.state}" if job else "NOT_FOUND"
        job.state = "complete"
        self._over(name, "completed")
        return "complete"

    def move_on(self, name: str, queue: str, delay: int, parents: list[str] | None) -> str:
        job = self.jobs.get(name)
        if job is None or job.state != "running":
            return f"WRONG_STATE {job.state}" if job else "NOT_FOUND"
        if parents is not None and self._goes_round(name, job.group, parents):
            return "DEPENDENCY_REFUSED circle"
        job.queue, job.due = queue, self.now + delay
        self._line_up(job, parents or [])
        state = job.state
        self._follow()
        return state

    def fail(self, name: str) -> str:
        job = self.jobs.get(name)
        if job is None or job.state == "complete":
            return "WRONG_STATE complete" if job else "NOT_FOUND"
        self._fail(name, "io")
        self._follow()
        return "failed"

    def retry(self, name: str) -> str:
        job = self.jobs.get(name)
        if job is None or job.state != "failed":
            return f"WRONG_STATE {job.state}" if job else "NOT_FOUND"
        job.state, job.failure, job.due = "waiting", "", self.now
        return "waiting"

    def requeue(self, name: str, queue: str) -> str:
        job = self.jobs.get(name)
        if job is None:
            return "NOT_FOUND"
        job.queue, job.due = queue, self.now
        self._line_up(job, [])
        return "waiting"

    def cancel(self, names: list[str], *, cascade: bool) -> list[str] | str:
        if not cascade:
            for name in names:
                if set(self.dependents(name)) - set(names):
                    return "HAS_DEPENDENTS"
        answers = []
        for name in names:
            job = self.jobs.get(name)
            if job is None or job.state == "complete":
                answers.append("WRONG_STATE complete" if job else "NOT_FOUND")
            else:
                answers.append(job.state)
                self._cancel(name, cascade=cascade)
        self._follow()
        return answers

    def delete_queue(self, queue: str) -> None:
        for name, job in list(self.jobs.items()):
            if job.queue == queue and job.state != "complete":
                self._cancel(name, cascade=False)
            elif job.queue == queue:
                del self.jobs[name]
        self._follow()

    def sweep(self) -> None:
        for name, job in list(self.jobs.items()):
            late = job.start_by is not None and job.start_by <= self.now
            if late and job.state in TO_BE_DONE:
                self._over(name, "gone")
                del self.jobs[name]
        for queue in {job.queue for job in self.jobs.values()}:
            self._promote(queue)
        self._follow()

    # finished jobs

    def _over(self, name: str, ending: str) -> None:
        job = self.jobs[name]
        job.depends = []
        self._ends.append((name, ending))
        if job.group:
            self._ends.append((MARK + job.group, "gone" if ending == "cascade" else ending))

    def _cancel(self, name: str, *, cascade: bool) -> None:
        self._over(name, "cascade" if cascade else "gone")
        del self.jobs[name]

    def _fail(self, name: str, failure: str) -> None:
        job = self.jobs[name]
        job.state, job.failure = "failed", failure
        self._over(name, "failed")

    def _follow(self) -> None:
        while self._ends:
            ended, self._ends = self._ends, []
            deeds = [
                (name, parent, ending, deed)
                for parent, ending in ended
                for name in self.dependents(parent)
                if (deed := self._deed(self.jobs[name].policy, parent, ending))
            ]
            for name, parent, ending, deed in deeds:
                if name in self.jobs and parent in self.jobs[name].depends:
                    self._do(name, parent, ending, deed)

    def _deed(self, policy: str, parent: str, ending: str) -> str:
        if ending == "cascade":
            return "cancel"
        if ending == "completed" or policy == "run":
            waits_on = parent[0] == MARK and self._is_open(parent, policy)
            return "" if waits_on else "satisfy"
        if policy == "cancel":
            return "cancel"
        return "fail" if policy == "fail" or ending == "gone" else ""

    def _do(self, name: str, parent: str, ending: str, deed: str) -> None:
        job = self.jobs[name]
        if deed == "satisfy":
            job.depends.remove(parent)
            self._unlock_if_free(job)
        elif deed == "cancel":
            self._cancel(name, cascade=ending == "cascade")
        else:
            self._fail(name, FAILED[ending])
