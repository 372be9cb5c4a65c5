"""How things come from a source: counted first, then brought, each once, however often begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from headrace.client.client import Client
from headrace.compat.importing.adopting import adopt, adopt_items, adopt_stats
from headrace.compat.importing.found import (
    FoundDay,
    FoundFeed,
    FoundItem,
    FoundJob,
    FoundQueue,
    FoundSchedule,
    Frame,
    Place,
    Reader,
    Thing,
)
from headrace.compat.importing.qless import QlessReader
from headrace.compat.importing.redis_queue import RedisQueueReader
from headrace.compat.importing.source import Source
from headrace.compat.importing.tally import Tally, key_of
from headrace.compat.importing.thoonk import ThoonkReader
from headrace.compat.importing.worqr import WorqrReader
from headrace.compat.opening import chosen
from headrace.engine.settings import Value
from headrace.errors import ImportRefused
from headrace.feeds import operations
from headrace.operations import queues, schedules
from headrace.operations.queues import QueueRef
from headrace.options import UNSET
from headrace.transport.drive import Operation, drive

READERS: dict[str, Callable[[Place], Reader]] = {
    "thoonk": ThoonkReader,
    "qless": QlessReader,
    "worqr": WorqrReader,
    "redis-queue": RedisQueueReader,
}
BATCH, BATCH_BYTES = 200, 1 << 22

Advance = Callable[[int], None]


def place_of(url: str, system: str, prefix: str | None = None, chosen: Iterable[str] = ()) -> Place:
    """What is to be read."""
    return Place(Source(url), system, prefix, tuple(chosen))


@dataclass(slots=True)
class Plan:
    """What there is to bring, a job that depends on others, and what is left out."""

    name: str
    tally: Tally = field(default_factory=Tally)
    settings: int = 0
    tied: str | None = None
    left_out: list[str] = field(default_factory=list)


def planned(place: Place, advance: Advance) -> Plan:
    """Counts everything at the source."""
    reader = READERS[place.system](place)
    plan = Plan(place.name)
    plan.settings = sum(isinstance(frame, tuple) for frame in reader.frames())
    for thing in reader.things():
        plan.tally.add(thing)
        if isinstance(thing, FoundJob) and thing.job.depends_on:
            plan.tied = thing.job.id
        advance(1)
    plan.left_out = reader.notes.lines()
    return plan


@dataclass(slots=True)
class Brought:
    """What came: how many now, how many had come before, and which have another id here."""

    made: int = 0
    known: int = 0
    renamed: int = 0


def bring(client: Client, place: Place, plan: Plan, advance: Advance) -> Brought:
    """Brings everything; raises ImportRefused if that is not what was counted."""
    _check_shards(client, plan)
    reader = READERS[place.system](place)
    brought, read = Brought(), Tally()
    for frame in reader.frames():
        _set_up(client, frame)
    for batch in batches(reader.things()):
        for thing in batch:
            read.add(thing)
        _bring(client, plan.name, batch, brought)
        advance(len(batch))
    check_unchanged(plan.tally, read)
    return brought


def check_unchanged(before: Tally, after: Tally) -> None:
    """Raises if the source says something else than before."""
    changes = list(before.differences(after))
    if changes:
        more = f" ({len(changes) - 1} more)" if len(changes) > 1 else ""
        raise ImportRefused(
            f"the source has changed while it was read: {changes[0]}{more}; stop whoever uses it "
            "and run the same command again: what has come does not come twice"
        )


def batches(things: Iterable[Thing]) -> Iterator[list[Thing]]:
    """Things of one kind and, if they are items, of one feed, as many as can be sent at once."""
    batch: list[Thing] = []
    size = 0
    for thing in things:
        if batch and (len(batch) == BATCH or size > BATCH_BYTES or not _alike(batch[0], thing)):
            yield batch
            batch, size = [], 0
        batch.append(thing)
        size += _size(thing)
    if batch:
        yield batch


def _alike(one: Thing, other: Thing) -> bool:
    if isinstance(one, FoundJob):
        return isinstance(other, FoundJob)
    return type(one) is type(other) and key_of(one) == key_of(other)


def _size(thing: Thing) -> int:
    if isinstance(thing, FoundJob):
        return len(thing.job.data) + len(thing.job.result or b"")
    return len(thing.item) if isinstance(thing, FoundItem) else 0


def _bring(client: Client, name: str, batch: list[Thing], brought: Brought) -> None:
    core = client.core
    jobs = [thing.job for thing in batch if isinstance(thing, FoundJob)]
    items = [thing for thing in batch if isinstance(thing, FoundItem)]
    new: list[bool] = []
    if jobs:
        taken = drive(core.transport, adopt(core, name, jobs))
        new += [answer.is_new for answer in taken]
        brought.renamed += sum(
            answer.is_new and answer.id != job.id for job, answer in zip(jobs, taken, strict=True)
        )
    if items:
        rows = [(item.id, item.item) for item in items]
        new += drive(core.transport, adopt_items(core, name, items[0].feed, rows))
    for thing in batch:
        if isinstance(thing, FoundDay):
            new.append(drive(core.transport, _add_day(client, name, thing)))
        elif isinstance(thing, FoundSchedule):
            new.append(drive(core.transport, _schedule(client, name, thing)))
    brought.made += sum(new)
    brought.known += len(new) - sum(new)


def _check_shards(client: Client, plan: Plan) -> None:
    if plan.tied is not None and client.core.shards > 1:
        raise ImportRefused(
            f"job {plan.tied!r} depends on others, and jobs that do live on one shard: import "
            "into a namespace that has one"
        )


def _add_day(client: Client, name: str, day: FoundDay) -> Operation[bool]:
    return (
        yield from adopt_stats(
            client.core,
            name,
            day.queue,
            day.day,
            {"wait": day.wait, "run": day.run},
            failures=day.failures,
            retries=day.retries,
        )
    )


def _schedule(client: Client, name: str, found: FoundSchedule) -> Operation[bool]:
    return (
        yield from schedules.adopt_schedule(
            QueueRef(client.core, found.queue),
            name,
            found.badge,
            found.id,
            found.data,
            every=found.every,
            due=found.due,
            backlog=found.backlog,
            priority=found.priority,
            tags=found.tags,
            retries=UNSET if found.retries is None else found.retries,
        )
    )


def _set_up(client: Client, frame: Frame) -> None:
    if isinstance(frame, FoundQueue):
        drive(client.core.transport, _open_queue(client, frame))
    elif isinstance(frame, FoundFeed):
        drive(client.core.transport, _open_feed(client, frame))
    else:
        drive(client.core.transport, _set(client, *frame))


def _set(client: Client, name: str, value: Value) -> Operation[None]:
    """Sets a setting of the namespace that nobody has set here."""
    if name not in (yield from queues.config(client.core)):
        yield from queues.config_set(client, name, value)


def _open_queue(client: Client, found: FoundQueue) -> Operation[None]:
    """Makes a queue as it was; how one that is there behaves was chosen by somebody."""
    queue = QueueRef(client.core, found.name)
    if not (yield from chosen(queue)):
        yield from queues.configure(queue, found.profile, **found.settings)


def _open_feed(client: Client, found: FoundFeed) -> Operation[None]:
    is_sorted = yield from operations.make(
        client.core,
        found.name,
        kind="sorted" if found.is_sorted else "plain",
        max_length=found.max_length,
        about=found.about,
        open_existing=True,
    )
    if is_sorted != found.is_sorted:
        kind = "sorted" if is_sorted else "plain"
        raise ImportRefused(
            f"feed {found.name!r} is there already, and is {kind}: import into another namespace"
        )
