"""adopt: what another queue had comes into being here, each thing once, however often asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, count
from typing import Any, NamedTuple

from headrace.engine.call import (
    Call,
    build,
    feed_answer,
    is_refusal,
    job_refusal,
    optional,
    packed,
)
from headrace.engine.record import decode_record
from headrace.engine.shard import id_on_same_shard
from headrace.engine.statistics import Series
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Job, read_job
from headrace.transport.drive import Operation

Stage = tuple[str, int, int | bool, int, str, str, str, str]
"""Queue, put, popped or False, ended, worker, outcome, failure, message; times in milliseconds."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A job as it was elsewhere; times are milliseconds.

    The badge tells it from all others of its import. `since` is when it is due (scheduled)
    or was popped (complete); failure is type, message, when and worker; parents are the badges of
    what it depends on. None is "as the queue has it", or for retries False: without limit.
    """

    id: str
    badge: str
    queue: str
    state: str
    data: bytes
    origin: str
    put_at: int | None = None
    since: int | None = None
    ended: int | None = None
    worker: str = ""
    attempt: int = 0
    priority: float = 0
    tags: tuple[str, ...] = ()
    retries: int | bool | None = None
    remaining: int | bool | None = None
    releases: int | None = None
    unique: str | None = None
    failure: tuple[str, str, int, str] | None = None
    history: tuple[Stage, ...] = ()
    depends_on: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    tracked: bool = False
    result: bytes | None = field(default=None, repr=False)

    def about(self) -> bytes:
        """All but id, badge, queue, data and result, as the script reads it."""
        every = {
            "state": self.state,
            "origin": self.origin,
            "put_at": self.put_at,
            "since": self.since,
            "ended": self.ended,
            "worker": self.worker,
            "attempt": self.attempt,
            "priority": self.priority,
            "tags": list(self.tags) or None,
            "retries": self.retries,
            "remaining": self.remaining,
            "releases": self.releases,
            "unique": self.unique,
            "failure": self.failure,
            "history": self.history,
            "depends_on": self.depends_on,
            "parents": self.parents or None,
            "tracked": self.tracked or None,
        }
        return packed({name: value for name, value in every.items() if value is not None})


class Taken(NamedTuple):
    """Under which id a job was adopted, and whether that was just now."""

    id: str
    is_new: bool


def adopt(core: Core, name: str, jobs: Sequence[Adopted]) -> Operation[list[Taken]]:
    """Adopts jobs in the given order; one whose id another job has gets another id."""

    def make(rows: Sequence[tuple[Any, ...]]) -> Call[list[Taken]]:
        def decode(answers: list[Any]) -> list[Taken]:
            return [
                _read(row[0], row[1], answer) for row, answer in zip(rows, answers, strict=True)
            ]

        return build("import_jobs", decode, rows, import_name=name)

    rows = [
        (
            job.id,
            _spare(core, name, job),
            job.badge,
            job.queue,
            job.data,
            job.about(),
            optional(job.result),
        )
        for job in jobs
    ]
    return (yield from in_batches(core, rows, make))


def _spare(core: Core, name: str, job: Adopted) -> str:
    """The same for every time a job is adopted, on its shard."""
    own = blake2b(f"{name}:{job.badge}".encode(), digest_size=6).hexdigest()
    candidates = chain([id_on_same_shard(job.id, own)], (f"{own}-{number}" for number in count()))
    return next(each for each in candidates if core.shard_of(each) == core.shard_of(job.id))


def _read(job_id: str, spare: str, answer: Any) -> Taken:
    if is_refusal(answer):
        raise job_refusal(job_id, answer)
    if isinstance(answer, int):
        return Taken(job_id if answer == 1 else spare, is_new=True)
    return Taken(answer[1:].decode(), is_new=False)


def adopt_stats(
    core: Core,
    name: str,
    queue: str,
    day: int,
    series: Mapping[str, Series],
    **counts: int,
) -> Operation[bool]:
    """Adds what was counted of a day (wait and run; failures and retries); whether it was new."""
    figures: dict[str, Any] = {
        which: {
            "count": part.count,
            "mean": part.mean * 1000,
            "vk": part.variance * max(0, part.count - 1) * 1e6,
            "bins": dict(part.bins),
        }
        for which, part in series.items()
    }
    call = build(
        "import_stats",
        int,
        import_name=name,
        queue=queue,
        day=day,
        figures=packed({**figures, **counts}),
    )
    return bool((yield from ask_one(core, core.shard_of(queue), call)))


def adopt_items(
    core: Core, name: str, feed: str, items: Sequence[tuple[str, bytes]]
) -> Operation[list[bool]]:
    """Publishes items at the end of a feed; for each whether it is new."""
    new: list[bool] = []
    for first in range(0, len(items), core.limits.batch):
        call: Call[list[int]] = build(
            "import_items",
            feed_answer(feed),
            items[first : first + core.limits.batch],
            import_name=name,
            feed=feed,
        )
        new += map(bool, (yield from ask_one(core, core.shard_of(feed), call)))
    return new


def present_jobs(core: Core, ids: Sequence[str]) -> Operation[list[tuple[Job, int] | None]]:
    """The jobs of these ids, each with the number by which it stands in its line."""

    def make(rows: Sequence[tuple[Any, ...]]) -> Call[list[tuple[Job, int] | None]]:
        def decode(reply: list[Any]) -> list[tuple[Job, int] | None]:
            found = {
                each[0].decode(): (read_job(core.codec, each), decode_record(each[1]).seq)
                for each in reply
            }
            return [found.get(str(row[0])) for row in rows]

        return build("get", decode, rows)

    return (yield from in_batches(core, [(each,) for each in ids], make))


def present_result(core: Core, job_id: str) -> Operation[bytes | None]:
    """The result of a job, as it is stored."""
    call: Call[Any] = build("result", lambda reply: reply, id=job_id, take=0)
    _, has_result, value, _ = yield from ask_one(core, core.shard_of(job_id), call)
    return value if has_result else None


def present_items(core: Core, feed: str, ids: Sequence[str]) -> Operation[list[bytes | None]]:
    """The items of these ids."""
    found: list[bytes | None] = []
    for first in range(0, len(ids), core.limits.batch):
        rows = [(each,) for each in ids[first : first + core.limits.batch]]
        call: Call[Any] = build("feed_items", feed_answer(feed), rows, feed=feed)
        found += yield from ask_one(core, core.shard_of(feed), call)
    return found
