"""The three steps of an import: count the entries, import each entry once, check the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, count
from typing import Any, NamedTuple

from headrace.client.client import Client
from headrace.compat.common import ensure_profile
from headrace.compat.importing import entries
from headrace.compat.importing.list_readers import RedisQueueReader, WorqrReader
from headrace.compat.importing.qless_reader import QlessReader
from headrace.compat.importing.thoonk_reader import ThoonkReader
from headrace.engine.call import Call, build, feed_answer, is_refusal, job_refusal, optional
from headrace.engine.record import decode_record
from headrace.engine.shard import id_on_same_shard
from headrace.errors import ImportRefused
from headrace.feeds import operations
from headrace.operations import queues, schedules
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.queues import QueueRef
from headrace.operations.requests import ask_one
from headrace.operations.schedules import read_schedule
from headrace.operations.values import Job, read_job
from headrace.transport.drive import Operation, drive

READERS: dict[str, Callable[[entries.ImportSource], entries.SourceReader]] = {
    "thoonk": ThoonkReader,
    "qless": QlessReader,
    "worqr": WorqrReader,
    "redis-queue": RedisQueueReader,
}
BATCH, BATCH_BYTES = 200, 1 << 22

Advance = Callable[[int], None]
EntryCounts = Counter[tuple[str, str]]
"""The number of entries for each pair: a queue or feed, and a state, "items" or "recurring"."""


def group_of(entry: entries.Entry) -> tuple[str, str]:
    """Return the queue or feed of an entry, and the state or kind of the entry."""
    if isinstance(entry, entries.ImportedJob):
        return entry.queue, entry.source_state
    if isinstance(entry, entries.FoundItem):
        return entry.feed, "items"
    return entry.queue, "recurring"


@dataclass(slots=True)
class ImportPlan:
    """The counts of the entries to import, and the names that are not imported."""

    name: str
    counts: EntryCounts = field(default_factory=Counter)
    dependent_job: str | None = None
    left_out: list[str] = field(default_factory=list)


def make_plan(source: entries.ImportSource, advance: Advance) -> ImportPlan:
    """Count the entries at the source.

    Raises ImportRefused if the source has no data of the system.
    """
    reader = READERS[source.system](source)
    plan = ImportPlan(source.name)
    for _ in reader.setups():
        # The iteration makes the reader record the settings that the reader cannot import.
        pass
    for entry in reader.read_entries():
        plan.counts[group_of(entry)] += 1
        if isinstance(entry, entries.ImportedJob) and entry.depends_on:
            plan.dependent_job = entry.id
        advance(1)
    plan.left_out = reader.left_out.lines()
    return plan


@dataclass(slots=True)
class ImportResult:
    """The numbers of entries imported now, imported earlier, and imported under a new id."""

    imported: int = 0
    imported_before: int = 0
    renamed: int = 0


def import_entries(
    client: Client, source: entries.ImportSource, plan: ImportPlan, advance: Advance
) -> ImportResult:
    """Import every entry that was not imported before.

    Raises ImportRefused if the entries at the source no longer match the plan.
    """
    _check_shards(client, plan)
    reader = READERS[source.system](source)
    for setup in reader.setups():
        drive(client.core.transport, _set_up(client, setup))
    result = ImportResult()
    for batch in _planned_batches(reader, plan, advance):
        taken = drive(client.core.transport, import_batch(client.core, plan.name, batch))
        for entry, answer in zip(batch, taken, strict=True):
            result.imported += answer.is_new
            result.imported_before += not answer.is_new
            result.renamed += answer.is_new and answer.id != entry.id
    return result


def _planned_batches(
    reader: entries.SourceReader, plan: ImportPlan, advance: Advance
) -> Iterator[list[entries.Entry]]:
    """Yield the entries in batches; at the end, raise ImportRefused if the counts changed."""
    counts = EntryCounts()
    for batch in batches(reader.read_entries()):
        counts.update(map(group_of, batch))
        yield batch
        advance(len(batch))
    check_unchanged(plan.counts, counts)


def check_unchanged(planned: EntryCounts, read: EntryCounts) -> None:
    """Raise ImportRefused if the counts at the source differ from the planned counts."""
    changed = [group for group in sorted(planned | read) if planned[group] != read[group]]
    if changed:
        (name, what), more = changed[0], len(changed) - 1
        raise ImportRefused(
            f"the source changed during the import: {name!r} had {planned[name, what]:,} {what}, "
            f"then {read[name, what]:,}{f' (other changes: {more})' if more else ''}; stop the "
            "producers and workers of the source, then run the same command again: no entry is "
            "imported twice"
        )


def batches(found: Iterable[entries.Entry]) -> Iterator[list[entries.Entry]]:
    """Split the entries into batches that are small enough for one call.

    All entries of a batch have the same type. All items of a batch belong to the same feed.
    """
    batch: list[entries.Entry] = []
    size = 0
    for entry in found:
        if batch and (
            len(batch) == BATCH or size > BATCH_BYTES or _target(batch[0]) != _target(entry)
        ):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += _size(entry)
    if batch:
        yield batch


def _target(entry: entries.Entry) -> tuple[type, str]:
    return type(entry), entry.feed if isinstance(entry, entries.FoundItem) else ""


def _size(entry: entries.Entry) -> int:
    if isinstance(entry, entries.ImportedJob):
        return len(entry.data) + len(entry.result or b"")
    return len(entry.item) if isinstance(entry, entries.FoundItem) else 0


def import_batch(core: Core, name: str, batch: list[entries.Entry]) -> Operation[list[ImportedId]]:
    """Import the new entries of a batch; return each entry's id and whether the entry is new."""
    jobs = [entry for entry in batch if isinstance(entry, entries.ImportedJob)]
    items = [entry for entry in batch if isinstance(entry, entries.FoundItem)]
    taken: list[ImportedId] = []
    if jobs:
        taken += yield from import_jobs(core, name, jobs)
    if items:
        rows = [(item.id, item.item) for item in items]
        new = yield from import_items(core, name, items[0].feed, rows)
        taken += [ImportedId(item.id, is_new) for item, is_new in zip(items, new, strict=True)]
    for entry in batch:
        if isinstance(entry, entries.FoundSchedule):
            queue = QueueRef(core, entry.queue)
            is_new = yield from schedules.adopt_schedule(
                queue, name, entry.import_id, entry.id, entry.data, **entry.options
            )
            taken.append(ImportedId(entry.id, is_new))
    return taken


# Import each job and item only once.


class ImportedId(NamedTuple):
    """The id under which a job was imported, and whether this call imported the job."""

    id: str
    is_new: bool


def import_jobs(
    core: Core, name: str, jobs: Sequence[entries.ImportedJob]
) -> Operation[list[ImportedId]]:
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


def _spare_id(core: Core, name: str, job: entries.ImportedJob) -> str:
    """Return the id to import a job under if another job already has the job's id.

    The id is on the job's shard, and it is the same each time the import runs.
    """
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


def _check_shards(client: Client, plan: ImportPlan) -> None:
    if plan.dependent_job is not None and client.core.shards > 1:
        raise ImportRefused(
            f"job {plan.dependent_job!r} depends on other jobs, and jobs with dependencies can be "
            "imported only with a single shard: import into a namespace that has one shard"
        )


# Create the queues and feeds, and apply the settings.


def _set_up(client: Client, setup: entries.Setup) -> Operation[None]:
    if isinstance(setup, entries.FoundQueue):
        queue = QueueRef(client.core, setup.name)
        yield from ensure_profile(queue, setup.profile, **setup.settings)
    elif isinstance(setup, entries.FoundFeed):
        yield from _open_feed(client, setup)
    else:
        name, value = setup
        if name not in (yield from queues.config(client.core)):
            yield from queues.config_set(client, name, value)


def _open_feed(client: Client, found: entries.FoundFeed) -> Operation[None]:
    is_sorted = yield from operations.make(
        client.core,
        found.name,
        sorted=found.is_sorted,
        max_length=found.max_length,
        about=found.about,
        open_existing=True,
    )
    if is_sorted != found.is_sorted:
        kind = "sorted" if is_sorted else "plain"
        raise ImportRefused(
            f"the namespace already has a {kind} feed {found.name!r}: import into another namespace"
        )


# Check the namespace after the import.


@dataclass(slots=True)
class ImportCheck:
    """The result of checking an import: the counts of unchanged entries, and the problems.

    `changed` counts the entries that workers or operators have changed since the import.
    """

    counts: EntryCounts = field(default_factory=Counter)
    changed: int = 0
    problems: list[str] = field(default_factory=list)
    last_numbers: dict[tuple[str, float, int], int] = field(default_factory=dict)


def check_import(
    client: Client, source: entries.ImportSource, plan: ImportPlan, advance: Advance
) -> ImportCheck:
    """Read the source again; check that every entry is imported and waiting jobs are in order.

    A missing entry is imported and reported as a problem. Raises ImportRefused if the
    source has changed.
    """
    check = ImportCheck()
    for batch in _planned_batches(READERS[source.system](source), plan, advance):
        drive(client.core.transport, _check_batch(client.core, plan.name, batch, check))
    return check


def _check_batch(
    core: Core, name: str, batch: list[entries.Entry], check: ImportCheck
) -> Operation[None]:
    # For an entry that was imported before, import_batch only returns the id of the entry.
    taken = yield from import_batch(core, name, batch)
    jobs: list[tuple[Job, int] | None] = [None] * len(batch)
    if isinstance(batch[0], entries.ImportedJob):
        jobs = yield from read_jobs(core, [answer.id for answer in taken])
    for entry, answer, job in zip(batch, taken, jobs, strict=True):
        if answer.is_new:
            queue, _ = group_of(entry)
            check.problems.append(
                f"{answer.id!r} of {queue!r} was missing; the check imported the entry"
            )
        elif isinstance(entry, entries.ImportedJob):
            _check_job(core, entry, job, check)
        elif isinstance(entry, entries.FoundSchedule):
            yield from _check_schedule(core, entry, check)
        else:
            check.counts[group_of(entry)] += 1


def _check_schedule(
    core: Core, found: entries.FoundSchedule, check: ImportCheck
) -> Operation[None]:
    _, stored = yield from schedules.read_stored(core, found.id)
    if stored is None:
        check.changed += 1
        return
    here = read_schedule(core.codec, found.id, stored)
    if (here.queue, here.payload) == (found.queue, found.data):
        check.counts[group_of(found)] += 1
    else:
        check.problems.append(
            f"schedule {found.id!r} of {found.queue!r} has another queue or other data in the "
            "namespace"
        )


def _check_job(
    core: Core, found: entries.ImportedJob, here: tuple[Job, int] | None, check: ImportCheck
) -> None:
    """Check the state of a job and, if the job is waiting, its position in the queue."""
    expected = (found.state, found.attempt, found.releases or 0)
    if here is None or (here[0].state, here[0].attempt, here[0].releases) != expected:
        check.changed += 1
        return
    job, number = here
    line = (found.queue, job.priority, core.shard_of(job.id))
    if job.state == "waiting":
        if number <= check.last_numbers.get(line, 0):
            check.problems.append(
                f"job {job.id!r} of {found.queue!r} has another position than at the source"
            )
            return
        check.last_numbers[line] = number
    check.counts[group_of(found)] += 1
