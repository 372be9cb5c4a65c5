"""Unique values, tags and tracked jobs in the model."""

from __future__ import annotations

from collections.abc import Iterable

from tests.model.jobs.model_parts import Job

LIVE = ("waiting", "scheduled", "blocked", "running")


class Ties:
    """The holders of unique values, and since when each job has a tag or is tracked."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.jobs: dict[str, Job] = {}
        self.claims: dict[tuple[str, str], str] = {}
        self.tagged: dict[tuple[str, str], int] = {}
        self.tracked_since: dict[str, int] = {}

    def other_holder(self, queue: str, value: str | None, job_id: str) -> Job | None:
        """Return another unfinished job of the queue that has this value."""
        holder = self.claims.get((queue, value or ""))
        return self.jobs[holder] if holder not in (None, job_id) else None

    def refusal(self, queue: str, value: str | None, job_id: str) -> str | None:
        other = self.other_holder(queue, value, job_id)
        return f"UNIQUE_TAKEN {other.state} {other.id}" if other else None

    def take_claim(self, job: Job) -> None:
        if self.other_holder(job.queue, job.unique, job.id) is not None:
            job.unique = None
        if job.unique is not None:
            self.claims[job.queue, job.unique] = job.id

    def release_claim(self, job: Job) -> None:
        mine = (job.queue, job.unique or "")
        if self.claims.get(mine) == job.id:
            del self.claims[mine]

    def set_tags(self, job: Job, tags: Iterable[str]) -> None:
        job.tags = tuple(tags)
        before = {tag for tag, job_id in self.tagged if job_id == job.id}
        for tag in before - {*job.tags}:
            del self.tagged[tag, job.id]
        for tag in {*job.tags} - before:
            self.tagged[tag, job.id] = self.now

    def drop(self, job: Job) -> None:
        """Forget the unique value and the tags of a deleted job, but keep its tracked id."""
        self.release_claim(job)
        self.set_tags(job, ())
        del self.jobs[job.id]

    # views

    def claims_of(self, queue: str) -> dict[str, str]:
        """Return the claims of a queue: its unfinished jobs that have a unique value."""
        found = {value: job_id for (name, value), job_id in self.claims.items() if name == queue}
        live = [job for job in self.jobs.values() if job.queue == queue and job.state in LIVE]
        unique = [(job.unique, job.id) for job in live if job.unique is not None]
        assert sorted(unique) == sorted(found.items())
        return found

    def tag_counts(self) -> dict[str, int]:
        tags = [tag for tag, _ in self.tagged]
        return {tag: tags.count(tag) for tag in tags}
