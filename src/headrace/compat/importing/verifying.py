"""Whether what came is what is at the source: every thing is read at both sides and compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from typing import Any

from headrace.client.client import Client
from headrace.compat.importing.adopting import (
    Adopted,
    adopt,
    present_items,
    present_jobs,
    present_result,
)
from headrace.compat.importing.bringing import READERS, Advance, Plan, batches, check_unchanged
from headrace.compat.importing.facts import (
    day_here,
    facts_here,
    facts_of,
    facts_of_job,
    facts_of_schedule,
    schedule_here,
)
from headrace.compat.importing.found import (
    FoundDay,
    FoundItem,
    FoundJob,
    FoundSchedule,
    Place,
    Thing,
)
from headrace.compat.importing.tally import Tally, key_of
from headrace.engine.check import EPOCH
from headrace.operations import queues, schedules
from headrace.operations.queues import QueueRef
from headrace.operations.schedules import read_schedule
from headrace.operations.values import Job
from headrace.transport.drive import Operation, drive


@dataclass(slots=True)
class Verified:
    """What was compared: here and there by queue and state; what has moved on since it came, and
    what is different.
    """

    there: Tally = field(default_factory=Tally)
    here: Tally = field(default_factory=Tally)
    moved_on: int = 0
    faults: list[str] = field(default_factory=list)


def verify(client: Client, place: Place, plan: Plan, advance: Advance) -> Verified:
    """Reads everything again, there and here; raises ImportRefused if the source has changed."""
    reader = READERS[place.system](place)
    found, read = Verified(), Tally()
    check = _Check(client, plan.name, found)
    for batch in batches(reader.things()):
        for thing in batch:
            read.add(thing)
        check.batch(batch)
        advance(len(batch))
    check_unchanged(plan.tally, read)
    return found


def delete_verified(client: Client, place: Place, plan: Plan, advance: Advance) -> Verified:
    """Verifies, and if all is well deletes the keys at the source, unless they change meanwhile."""
    reader = READERS[place.system](place)
    for _ in chain(reader.frames(), reader.things()):
        # Only to learn what is left out: the keys that have it stay.
        pass
    with place.source.watched(sorted({*reader.keys()} - reader.notes.staying)) as delete:
        found = verify(client, place, plan, advance)
        if not found.faults:
            delete()
    return found


class _Check:
    """Compares batches. Waiting jobs must also stand in the order in which they come."""

    def __init__(self, client: Client, name: str, found: Verified) -> None:
        self._client = client
        self._name = name
        self._found = found
        self._kept: dict[str, dict[str, Any]] = {}
        self._last: dict[tuple[str, float, int], int] = {}
        self._renamed: dict[str, str] = {}

    def batch(self, batch: list[Thing]) -> None:
        jobs = [thing for thing in batch if isinstance(thing, FoundJob)]
        items = [thing for thing in batch if isinstance(thing, FoundItem)]
        if jobs:
            drive(self._client.core.transport, self._jobs(jobs))
        if items:
            drive(self._client.core.transport, self._items(items))
        for thing in batch:
            if isinstance(thing, FoundDay):
                drive(self._client.core.transport, self._day(thing))
            elif isinstance(thing, FoundSchedule):
                drive(self._client.core.transport, self._schedule(thing))

    def _jobs(self, batch: list[FoundJob]) -> Operation[None]:
        jobs = [thing.job for thing in batch]
        here = yield from present_jobs(self._client.core, [job.id for job in jobs])
        lost = [
            at for at, job in enumerate(here) if job is None or job[0].origin != jobs[at].origin
        ]
        if lost:
            # To adopt again is to ask: what came before does not come again.
            asked = [jobs[at] for at in lost]
            answers = yield from adopt(self._client.core, self._name, asked)
            renamed = yield from present_jobs(self._client.core, [each.id for each in answers])
            for at, answer, job in zip(lost, answers, renamed, strict=True):
                here[at] = job
                self._renamed[jobs[at].id] = answer.id
                if answer.is_new:
                    self._fault(jobs[at], "was missing, and has been brought now")
        for thing, found in zip(batch, here, strict=True):
            parents = tuple(self._renamed.get(each, each) for each in thing.job.depends_on)
            known = FoundJob(thing.was, replace(thing.job, depends_on=parents))
            yield from self._job(known, found)

    def _job(self, thing: FoundJob, here: tuple[Job, int] | None) -> Operation[None]:
        settings = yield from self._settings(thing.job.queue)
        expected = facts_of_job(thing.job, settings["history"])
        if here is None or _has_moved_on(thing.job, here[0]):
            self._found.moved_on += 1
            return
        result = None
        if thing.job.result is not None:
            result = yield from present_result(self._client.core, here[0].id)
        # What its source does not know of it is not compared.
        known = facts_here(here[0], result, thing.job)
        actual = {name: known.get(name) for name in expected}
        self._found.there.count(key_of(thing), expected)
        self._found.here.count(key_of(thing), actual)
        wrong = [name for name in expected if expected[name] != actual[name]]
        if wrong:
            self._fault(thing.job, f"has another {wrong[0]} here")
        elif thing.job.state == "waiting":
            self._order(thing.job, here)

    def _order(self, job: Adopted, here: tuple[Job, int]) -> None:
        found, seq = here
        line = (job.queue, job.priority, self._client.core.shard_of(found.id))
        if self._last.get(line, 0) >= seq:
            self._fault(job, "stands at another place here")
        self._last[line] = seq

    def _settings(self, queue: str) -> Operation[dict[str, Any]]:
        if queue not in self._kept:
            self._kept[queue] = yield from queues.settings(QueueRef(self._client.core, queue))
        return self._kept[queue]

    def _day(self, day: FoundDay) -> Operation[None]:
        settings = yield from self._settings(day.queue)
        queue = QueueRef(self._client.core, day.queue)
        today = (yield from queues.stats(queue)).day
        of = EPOCH + timedelta(days=day.day)
        # Both may be forgotten before the day is over.
        left = timedelta(seconds=settings["stats_age"]) - (today - of)
        has_histogram = timedelta(seconds=settings["histogram_age"]) > today - of
        if left <= timedelta(0):
            self._found.moved_on += 1
            return
        stats = yield from queues.stats(queue, of)
        here = day_here(stats, day, has_histogram=has_histogram)
        self._found.there.add(day)
        self._found.here.add(here)
        if facts_of(here) != facts_of(day):
            self._found.faults.append(f"the statistics of {day.queue!r} of {of} are others here")

    def _schedule(self, found: FoundSchedule) -> Operation[None]:
        _, stored = yield from schedules.read_stored(self._client.core, found.id)
        if stored is None:
            self._found.moved_on += 1
            return
        expected = facts_of_schedule(found)
        here = read_schedule(self._client.core.codec, found.id, stored)
        actual = schedule_here(here, found)
        self._found.there.count(key_of(found), expected)
        self._found.here.count(key_of(found), actual)
        wrong = [name for name in expected if expected[name] != actual[name]]
        if wrong:
            words = f"schedule {found.id!r} of {found.queue!r} has another {wrong[0]} here"
            self._found.faults.append(words)

    def _items(self, batch: list[FoundItem]) -> Operation[None]:
        ids = [item.id for item in batch]
        here = yield from present_items(self._client.core, batch[0].feed, ids)
        for item, found in zip(batch, here, strict=True):
            if found is None:
                self._found.moved_on += 1
                continue
            self._found.there.add(item)
            self._found.here.add(replace(item, item=found))
            if found != item.item:
                self._found.faults.append(f"item {item.id!r} of {item.feed!r} is another here")

    def _fault(self, job: Adopted, what: str) -> None:
        self._found.faults.append(f"job {job.id!r} of {job.queue!r} {what}")


def _has_moved_on(job: Adopted, here: Job) -> bool:
    """Whether somebody has done something with it since it came."""
    return (
        here.state != job.state
        or here.attempt != job.attempt
        or here.releases != (job.releases or 0)
    )
