"""Operations that import each job, item and schedule only once."""

from __future__ import annotations

from collections.abc import Sequence
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
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Job, read_job
from headrace.transport.drive import Operation

PastStage = tuple[str, int, int | bool, int, str, str, str, str]
"""Queue, put time, pop time or False, end time, worker, outcome, failure, message (times in ms)."""

# Each of these fields is a separate argument of the script, or is not sent. All other fields are
# packed into one argument.
SENT_APART = {"id", "import_id", "queue", "data", "result", "source_state"}
# The script expects these fields only if they have a value, so empty fields are not sent.
OPTIONAL = {"tags", "parents", "tracked"}


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """A job of another system, with times in milliseconds.

    `import_id` is unique within the import. `since` is the due time of a scheduled job, or the time
    at which a complete job was popped. `failure` holds the type, message, time and worker of the
    failure. `parents` holds the import ids of the jobs that this job depends on. For `retries` and
    `remaining`, None means the default of the queue and False means no limit. `source_state` is the
    state of the job at the source; a job that is running at the source is imported as waiting.
    """

    id: str
    import_id: str
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
    history: tuple[PastStage, ...] = ()
    depends_on: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    tracked: bool = False
    result: bytes | None = field(default=None, repr=False)
    source_state: str = "waiting"

    def packed_fields(self) -> bytes:
        """Pack the fields that the script reads from a single argument, and return the bytes."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in SENT_APART}
        given = {
            name: value
            for name, value in fields.items()
            if value is not None and (value or name not in OPTIONAL)
        }
        return packed(given)


class ImportedId(NamedTuple):
    """The id under which a job was imported, and whether this call imported the job."""

    id: str
    is_new: bool


def import_jobs(core: Core, name: str, jobs: Sequence[ImportedJob]) -> Operation[list[ImportedId]]:
    """Import jobs in the given order; skip jobs that the import `name` has imported before.

    If another job already has the id of a job, the imported job gets a new id.
    """

    def make(rows: Sequence[tuple[Any, ...]]) -> Call[list[ImportedId]]:
        def decode(answers: list[Any]) -> list[ImportedId]:
            return [
                _read(row[0], row[1], answer) for row, answer in zip(rows, answers, strict=True)
            ]

        return build("import_jobs", decode, rows, import_name=name)

    rows = [
        (
            job.id,
            _spare_id(core, name, job),
            job.import_id,
            job.queue,
            job.data,
            job.packed_fields(),
            optional(job.result),
        )
        for job in jobs
    ]
    return (yield from in_batches(core, rows, make))


def _spare_id(core: Core, name: str, job: ImportedJob) -> str:
    """Return a deterministic id on the job's shard, to use if another job has the job's id."""
    own = blake2b(f"{name}:{job.import_id}".encode(), digest_size=6).hexdigest()
    candidates = chain([id_on_same_shard(job.id, own)], (f"{own}-{number}" for number in count()))
    return next(each for each in candidates if core.shard_of(each) == core.shard_of(job.id))


def _read(job_id: str, spare_id: str, answer: Any) -> ImportedId:
    if is_refusal(answer):
        raise job_refusal(job_id, answer)
    if isinstance(answer, int):
        return ImportedId(job_id if answer == 1 else spare_id, is_new=True)
    return ImportedId(answer[1:].decode(), is_new=False)


def import_items(
    core: Core, name: str, feed: str, items: Sequence[tuple[str, bytes]]
) -> Operation[list[bool]]:
    """Publish each item once at the end of a feed; return for each item whether the item is new."""
    call: Call[list[int]] = build(
        "import_items", feed_answer(feed), items, import_name=name, feed=feed
    )
    return list(map(bool, (yield from ask_one(core, core.shard_of(feed), call))))


def read_jobs(core: Core, ids: Sequence[str]) -> Operation[list[tuple[Job, int] | None]]:
    """Return the jobs with these ids, each with its sequence number in the queue."""

    def make(rows: Sequence[tuple[Any, ...]]) -> Call[list[tuple[Job, int] | None]]:
        def decode(reply: list[Any]) -> list[tuple[Job, int] | None]:
            found = {
                each[0].decode(): (read_job(core.codec, each), decode_record(each[1]).seq)
                for each in reply
            }
            return [found.get(str(row[0])) for row in rows]

        return build("get", decode, rows)

    return (yield from in_batches(core, [(each,) for each in ids], make))
