"""A job of qless: a hash with JSON in it, its history in one of three forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace.compat.importing.adopting import Adopted, Stage
from headrace.compat.importing.facts import cut
from headrace.compat.importing.found import (
    LIMITS,
    FoundSchedule,
    Notes,
    Place,
    badge_of,
    job_id,
    queue_name,
    whole_ms,
    whole_number,
)
from headrace.engine.check import LONGEST_MS, number, tags
from headrace.errors import InvalidArgument
from headrace.operations.schedules import MOST_BACKLOG
from headrace.options import MOST_RETRIES

UNKNOWN_QUEUE = "imported"
KLASS = b"klass"
AT_ONCE = 1


@dataclass(slots=True)
class Step:
    """A stage of the history, as far as it is told; times in milliseconds."""

    queue: str
    put: int | None = None
    popped: int | None = None
    done: int | None = None
    failed: int | None = None
    worker: str = ""

    @property
    def ended(self) -> int | None:
        return self.done or self.failed


@dataclass(frozen=True, slots=True)
class Stored:
    """A job hash, and beside it what later versions keep apart."""

    id: bytes
    key: bytes
    fields: dict[bytes, bytes]
    apart: list[bytes] = field(default_factory=list)
    depends_on: tuple[bytes, ...] = ()
    highest_first: bool = False
    is_tracked: bool = False

    def text(self, name: str) -> str:
        return self.fields.get(name.encode(), b"").decode(errors="replace")

    def json(self, name: str) -> Any:
        """What a field says in JSON; None if it says nothing."""
        try:
            return msgspec.json.decode(self.fields.get(name.encode(), b"null"))
        except msgspec.DecodeError:
            return None

    @property
    def has_klass(self) -> bool:
        """Whether a later version wrote it."""
        return KLASS in self.fields


def read(
    place: Place, notes: Notes, stored: Stored, state: str, at: float | None, kind: str
) -> Adopted:
    """A job that was found in a state. `at` is when it is due or was completed, `kind` under which
    type of failure it is listed.
    """
    steps = steps_of(stored)
    present = steps[-1] if steps else Step(UNKNOWN_QUEUE)
    badge = badge_of(stored.id)
    when = whole_ms(at)
    if state == "scheduled" and when is None:
        notes.add("is due at no time that there is; it is due at once", stored.id)
    worker = stored.text("worker") or present.worker
    popped = sum(step.popped is not None for step in steps)
    return Adopted(
        id=job_id(stored.id, badge),
        badge=badge,
        queue=_queue(stored, present),
        state=state,
        data=payload_of(stored),
        origin=place.origin(stored.id),
        put_at=present.put,
        since={
            "scheduled": when or AT_ONCE,
            "complete": present.popped or present.put or when,
        }.get(state),
        ended=(present.done or when) if state == "complete" else None,
        worker=worker if state == "complete" else "",
        attempt=popped,
        priority=_priority(notes, stored),
        tags=_tags(notes, stored),
        retries=_count(stored, "retries", MOST_RETRIES),
        remaining=_count(stored, "remaining", MOST_RETRIES),
        failure=_failure(stored, kind, when) if state == "failed" else None,
        history=_past(steps, state, _failure(stored, kind, when)),
        depends_on=tuple(job_id(each, badge_of(each)) for each in stored.depends_on),
        parents=tuple(badge_of(each) for each in stored.depends_on),
        tracked=stored.is_tracked,
    )


def payload_of(stored: Stored) -> bytes:
    """The data as they are; those of a klass become the call of a task of that name."""
    data = stored.fields.get(b"data", b"null")
    if not stored.has_klass:
        return data
    args = data if data.lstrip()[:1] == b"{" else b'{"data":' + data + b"}"
    return b'{"task":' + msgspec.json.encode(stored.text("klass")) + b',"args":' + args + b"}"


def _queue(stored: Stored, present: Step) -> str:
    said = stored.fields.get(b"queue", b"")
    return queue_name(said if said not in (b"", b"null") else present.queue.encode())


def _priority(notes: Notes, stored: Stored) -> float:
    said = stored.text("priority") or "0"
    try:
        found = float(number("priority", float(said)))
    except (ValueError, InvalidArgument):
        notes.add("its priority is no number; here it has 0", stored.id, stored.key)
        return 0.0
    return -found if stored.highest_first and found else found


def _tags(notes: Notes, stored: Stored) -> tuple[str, ...]:
    said = stored.json("tags")
    if not said and (said is not None or stored.text("tags") in ("", "null")):
        return ()
    try:
        return tuple(tags(said if isinstance(said, list) else None, LIMITS))
    except InvalidArgument:
        notes.add("its tags cannot be tags here; it has none", stored.id, stored.key)
        return ()


def _count(stored: Stored, name: str, most: int) -> int | None:
    said = whole_number(stored.text(name))
    return None if said is None else min(max(0, said), most)


def _failure(stored: Stored, listed: str, when: int | None) -> tuple[str, str, int, str]:
    said = stored.json("failure")
    told: dict[str, Any] = said if isinstance(said, dict) else {}
    kind = str(told.get("group") or told.get("type") or listed)
    at = whole_ms(told.get("when")) or when or 0
    return (
        kind[: LIMITS.name] or "failed",
        str(told.get("message", "")),
        at,
        str(told.get("worker", "")),
    )


def schedule_of(notes: Notes, stored: Stored, queue: str, at: float) -> FoundSchedule | None:
    """A recurring job; None if it does not say how often."""
    every = _count(stored, "interval", LONGEST_MS // 1000)
    backlog = _count(stored, "backlog", MOST_BACKLOG)
    if not every:
        notes.add("recurs, but does not say in which interval", stored.id, stored.key)
        return None
    return FoundSchedule(
        id=job_id(stored.id, badge_of(stored.id)),
        badge=badge_of("recurring", stored.id),
        queue=queue,
        data=payload_of(stored),
        every=every,
        due=whole_ms(at) or 0,
        backlog=backlog or None,
        priority=_priority(notes, stored),
        tags=_tags(notes, stored),
        retries=_count(stored, "retries", MOST_RETRIES),
    )


# history


def steps_of(stored: Stored) -> list[Step]:
    """The stages of a job, oldest first."""
    if stored.apart:
        return _from_entries(stored.apart)
    said = stored.json("history")
    steps = [_step(each) for each in said] if isinstance(said, list) else []
    return [step for step in steps if step is not None]


def _step(told: Any) -> Step | None:
    if isinstance(told, list) and told:
        queue, put, popped, done, worker = [*told, *[None] * 5][:5]
        return Step(
            str(queue), whole_ms(put), whole_ms(popped), whole_ms(done), None, str(worker or "")
        )
    if isinstance(told, dict) and told:
        times = {name: whole_ms(told.get(name)) for name in ("put", "popped", "done", "failed")}
        queue = str(told.get("q") or UNKNOWN_QUEUE)
        return Step(queue, worker=str(told.get("worker", "")), **times)
    return None


def _from_entries(packed: list[bytes]) -> list[Step]:
    """What a list of entries {what, when, ...} tells; each put begins a stage."""
    steps: list[Step] = []
    for each in packed:
        try:
            told = msgspec.msgpack.decode(each)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(told, dict):
            _tell(steps, told)
    return steps


def _tell(steps: list[Step], told: dict[str, Any]) -> None:
    what, when = told.get("what"), whole_ms(told.get("when"))
    if what == "put" or not steps:
        queue = told.get("q") or told.get("queue") or UNKNOWN_QUEUE
        steps.append(Step(str(queue), put=when))
    step = steps[-1]
    if what == "popped":
        if step.popped is not None:
            step = Step(step.queue, put=step.put)
            steps.append(step)
        step.popped, step.worker = when, str(told.get("worker", ""))
    elif what == "done":
        step.done = when
    elif what == "failed":
        step.failed, step.worker = when, str(told.get("worker", step.worker))


def _past(steps: list[Step], state: str, failure: tuple[str, str, int, str]) -> tuple[Stage, ...]:
    """The stages that are over; of a failed job also the last one."""
    over = steps if state == "failed" else steps[:-1]
    kind, message, at, _ = failure
    past: list[Stage] = []
    for place, step in enumerate(over):
        is_last = state == "failed" and place == len(over) - 1
        failed = is_last or (step.failed is not None and step.done is None)
        past.append(
            (
                step.queue,
                step.put or 0,
                step.popped or False,
                (at if is_last else 0) or step.ended or _next(steps, place),
                step.worker,
                "failed" if failed else "completed" if step.done else "lost",
                (kind if is_last else "failed") if failed else "",
                cut(message) if is_last else "",
            )
        )
    return tuple(past)


def _next(steps: list[Step], place: int) -> int:
    """When the stage after this one began: then this one was over."""
    after = steps[place + 1] if place + 1 < len(steps) else steps[place]
    return after.put or after.popped or steps[place].popped or 0
