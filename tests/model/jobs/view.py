"""The comparison of everything that a client can see with the model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest

from headrace import Client
from headrace import Job as SeenJob
from headrace.engine.check import EPOCH as FIRST_DAY
from headrace.engine.events import read_published_event
from headrace.engine.record import decode_record
from headrace.engine.statistics import Series
from headrace.engine.timestamps import EPOCH
from headrace.operations import audit as auditing
from headrace.operations import daily_totals, event_log
from headrace.operations import queues as queue_talks
from headrace.operations.failures import failure_counts
from headrace.operations.jobs import jobs
from headrace.operations.sessions import workers
from headrace.transport.drive import Operation, Send, drive
from tests.model.jobs.batch import together
from tests.model.jobs.model import Model
from tests.model.jobs.model_parts import DAY, Event, Job, finite


class View:
    """Compares what a client reads with the model."""

    def __init__(
        self, hr: Client, model: Model, queues: Sequence[str], workers: Sequence[str]
    ) -> None:
        self.hr = hr
        self.model = model
        self.ever: dict[str, None] = {}
        self.seen: dict[int, str] = {}
        self.tags: dict[str, None] = {}
        self.numbered = 0
        self.expected: list[tuple[str, ...]] = []
        channels = [hr.core.channel(0, "queue", name) for name in queues]
        channels += [hr.core.channel(0, "worker", name) for name in workers]
        channels += [hr.core.channel(0, role, "") for role in ("ended", "tracked")]
        self.subscription = hr.core.transport.subscribe(channels)

    def expect_notices(self) -> None:
        """Remember the notices of the model's last call for the next check."""
        self.expected += self.model.notices()

    def check(self) -> None:
        checks = [self.check_jobs, self.check_queues, self.check_ties, self.check_workers]
        checks += [self.check_events, self.check_books]
        drive(self.hr.core.transport, together([check() for check in checks]))
        self.check_notices()

    def check_jobs(self) -> Operation[None]:
        self.ever |= dict.fromkeys(self.model.jobs)
        seen = {job.id: seen_job(job) for job in (yield from jobs(self.hr, [*self.ever]))}
        visible = [job for job in self.model.jobs.values() if self.model.is_visible(job)]
        assert seen == {job.id: modelled_job(job, self.model.has_result(job)) for job in visible}

    def check_books(self) -> Operation[None]:
        audit = yield from auditing.audit(self.hr)
        assert audit.balanced, audit.problems

    def check_queues(self) -> Operation[None]:
        today = self.model.now // DAY
        measured = [name for name in self.model.queues if self.model.rules(name).stats]
        queues, found, *_ = yield from together(
            [
                queue_talks.queues(self.hr),
                failure_counts(self.hr),
                *(self.check_stats(name, today) for name in measured),
            ]
        )
        assert list(queues) == list(self.model.queues)
        for name, seen in queues.items():
            rules, counts = self.model.rules(name), self.model.counts(name)
            assert {field: getattr(seen, field) for field in COUNTED} == {
                field: counts.get(field, 0) for field in COUNTED
            }, name
            assert seen.paused == rules.paused
        kinds = [job.failure[0] for job in self.model.jobs.values() if job.failure]
        assert found == {kind: kinds.count(kind) for kind in kinds}

    def check_ties(self) -> Operation[None]:
        """Compare the claims of every queue, the index of tags and the tracked jobs."""
        model, core = self.model, self.hr.core
        self.tags |= dict.fromkeys(tag for tag, _ in model.tagged)
        hashes = [(0, ("HGETALL", core.key(0, f"unique:{queue}"))) for queue in model.queues]
        names = ["tags", "tracked", *(f"tag:{tag}" for tag in self.tags)]
        sets = [(0, ("ZRANGE", core.key(0, name), 0, -1, "WITHSCORES")) for name in names]
        replies = [paired(reply) for reply in (yield Send([*hashes, *sets]))]
        claims, (counts, tracked, *tagged) = replies[: len(hashes)], replies[len(hashes) :]
        assert claims == [model.claims_of(queue) for queue in model.queues]
        assert scores(counts) == model.tag_counts()
        assert scores(tracked) == model.tracked_since
        found = {
            (tag, job_id): since
            for tag, times in zip(self.tags, tagged, strict=True)
            for job_id, since in scores(times).items()
        }
        assert found == model.tagged

    def check_stats(self, queue: str, number: int) -> Operation[None]:
        date = str(FIRST_DAY.fromordinal(FIRST_DAY.toordinal() + number))
        seen = yield from daily_totals.stats(self.hr.queue(queue), date)
        day = self.model.kept_day(number, queue)
        assert (seen.failures, seen.retries) == (day.failures, day.retries)
        assert seen.failed == self.model.counts(queue).get("failed", 0)
        assert_series(seen.wait, day.summary("wait"))
        assert_series(seen.run, day.summary("run"))

    def check_days(self) -> None:
        """Compare the statistics of every day, not only of today."""
        talks = [self.check_stats(queue, number) for number, queue in self.model.days]
        drive(self.hr.core.transport, together(talks))

    def check_workers(self) -> Operation[None]:
        seen = [
            (worker.name, worker.expires_in, set(worker.queues), worker.jobs)
            for worker in (yield from workers(self.hr))
        ]
        assert seen == [
            (name, self._left(session.ends), session.serves, len(self.model.held_by(name)))
            for name, session in sorted(self.model.sessions.items())
        ]

    def _left(self, ends: float) -> float | None:
        known = finite(ends)
        return None if known is None else max(0, known - self.model.now) / 1000

    def check_events(self) -> Operation[None]:
        found = yield from event_log.events(self.hr, after=self.seen)
        numbers = [event.number for event in found]
        assert numbers == list(range(self.numbered + 1, self.numbered + 1 + len(found)))
        told = [
            Event(
                event.kind,
                event.job_id,
                event.queue,
                event.attempt,
                event.worker,
                event.priority,
                event.wait,
                event.run,
                milliseconds(event.at),
                None if event.data is None else event.data.decode(),
            )
            for event in found
        ]
        # The events of one job are ordered; a call may handle several jobs in any order.
        assert by_job(told) == by_job(self.model.events[self.numbered :])
        if found:
            self.numbered, self.seen = numbers[-1], {0: found[-1].entry_id}

    def check_notices(self) -> None:
        # The server has answered a later command, so all its notices have arrived.
        heard = [told for notice in self.subscription.receive(0) for told in read_notice(*notice)]
        assert sorted(heard) == sorted(self.expected)
        self.expected = []


COUNTED = ("waiting", "scheduled", "blocked", "running", "failed", "complete", "late", "due")


def seen_job(job: SeenJob) -> tuple[Any, ...]:
    """Return the compared values of a job, as the client shows it."""
    return (
        (job.id, job.state, job.queue, job.priority, tuple(job.tags), job.worker),
        (milliseconds(job.expires), milliseconds(job.due), milliseconds(job.put_at)),
        (job.attempt, job.releases, job.retries, job.remaining),
        (job.failure.type, job.failure.worker) if job.failure else None,
        [stage.outcome for stage in job.history if stage.outcome],
        (job.payload.decode(), job.has_result),
        (job.unique, job.tracked),
    )


def modelled_job(job: Job, has_result: bool) -> tuple[Any, ...]:  # noqa: FBT001
    """Return the same values of a job of the model."""
    queue = None if job.state == "complete" else job.queue
    expires = finite(job.moment) if job.state == "running" else None
    due = job.moment if job.state == "scheduled" else None
    return (
        (job.id, job.state, queue, job.priority, job.tags, job.worker),
        (expires, due, job.put_at),
        (job.attempt, job.releases, job.retries, job.remaining),
        job.failure,
        job.past + (["completed"] if job.state == "complete" else []),
        (job.data, has_result),
        (job.unique, job.tracked),
    )


def paired(reply: list[bytes]) -> dict[str, str]:
    return {
        one.decode(): other.decode() for one, other in zip(reply[::2], reply[1::2], strict=True)
    }


def scores(found: dict[str, str]) -> dict[str, int]:
    return {name: int(score) for name, score in found.items()}


def by_job(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.job_id)


def milliseconds(at: datetime | None) -> Any:
    return None if at is None else round((at - EPOCH).total_seconds() * 1000)


def assert_series(seen: Series, expected: tuple[int, float, float, dict[str, int]]) -> None:
    count, mean, variance, bins = expected
    assert (seen.count, seen.bins) == (count, bins)
    assert (seen.mean, seen.variance) == pytest.approx((mean, variance), rel=1e-9, abs=1e-9)


def read_notice(channel: str, message: bytes) -> list[tuple[str, ...]]:
    """Return a notice as in the model: only the attempt of a token, one entry per finished job."""
    name = channel.partition("}:")[2]
    if name.startswith("queue:"):
        return [(name, message.decode())]
    if name == "tracked:":
        event = read_published_event(0, message)
        return [(name, event.kind, event.job_id, str(event.number))]
    words = msgspec.msgpack.decode(message)
    if name == "ended:":
        return [(name, job_id) for job_id in words]
    what, job_id, token = words
    return [(name, what, job_id, token.partition(".")[0])]


def readable(op: str, answer: Any) -> Any:
    """Return an answer of server or model in a common form."""
    if op == "pop" and isinstance(answer, list):
        due, apart, *rest = answer
        beside = dict(zip(apart[::2], apart[1::2], strict=True))
        answer = (due, [popped(*row, beside) for row in zip(rest[::2], rest[1::2], strict=True)])
    elif op == "pop" and isinstance(answer, tuple):
        due, jobs = answer
        answer = (due, [(job.id, job.token, job.worker, job.data) for job in jobs])
    elif op == "put" and isinstance(answer, int):
        answer = [1] * answer
    elif op == "complete" and isinstance(answer, int):
        answer = ["complete"] * answer
    elif op == "peek" and isinstance(answer, list):
        answer = (answer[0], [described[0] for described in answer[1:]])
    return plain(answer)


def plain(answer: Any) -> Any:
    if isinstance(answer, bytes):
        return answer.decode()
    if isinstance(answer, list | tuple):
        return [plain(one) for one in answer]
    return answer


def popped(job_id: bytes, packed: bytes, beside: dict[bytes, bytes]) -> tuple[str, str, str, str]:
    record = decode_record(packed)
    inline = record.inline_data()
    data = beside[job_id] if inline is None else inline
    return job_id.decode(), record.token, record.worker, data.decode()
