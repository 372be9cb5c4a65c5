"""Read a qless job, which is a hash with JSON fields and a history in one of three formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from headrace.compat.importing import entries
from headrace.engine.check import LONGEST_MS, number, tags
from headrace.errors import InvalidArgument
from headrace.operations.schedules import MOST_BACKLOG
from headrace.options import MOST_RETRIES, UNSET

STATES = {
    "waiting": "waiting",
    "scheduled": "scheduled",
    "running": "waiting",
    "pending": "waiting",
    "stalled": "waiting",
    "failed": "failed",
    "complete": "complete",
    "depends": "blocked",
}
UNKNOWN_QUEUE = "imported"
KLASS = b"klass"
# The server keeps at most this many bytes of each message in the history of a job.
SHORT_MESSAGE = 1024
DUE_AT_ONCE = 1

QlessFailure = tuple[str, str, int, str]


class ListedJob(NamedTuple):
    """A job in a qless list: id, state, due or completion time, failure type, dependencies."""

    id: bytes
    state: str
    at: float | None = None
    failure: str = "failed"
    depends_on: Sequence[bytes] = ()


@dataclass(slots=True)
class QlessStage:
    """A stage of a job's history: the job was put into a queue, popped, and then done or failed.

    The times are in milliseconds, or None if unknown.
    """

    queue: str
    put: int | None = None
    popped: int | None = None
    done: int | None = None
    failed: int | None = None
    worker: str = ""


@dataclass(frozen=True, slots=True)
class QlessHash:
    """The hash of a job, and the history that later versions of qless keep in a list."""

    id: bytes
    fields: dict[bytes, bytes]
    history_list: list[bytes]
    higher_first: bool = False
    is_tracked: bool = False

    def text(self, name: str) -> str:
        """Return a field as text, or "" if the field is missing."""
        return self.fields.get(name.encode(), b"").decode(errors="replace")

    def json(self, name: str) -> Any:
        """Return the value of a JSON field, or None if the field is missing or not valid JSON."""
        try:
            return msgspec.json.decode(self.fields.get(name.encode(), b"null"))
        except msgspec.DecodeError:
            return None


def read_job(
    source: entries.ImportSource, left_out: entries.LeftOut, stored: QlessHash, listed: ListedJob
) -> entries.ImportedJob:
    """Return the ImportedJob for a job in a qless list."""
    state = STATES[listed.state]
    stages = read_history(stored)
    last = stages[-1] if stages else QlessStage(UNKNOWN_QUEUE)
    import_id = entries.import_id_of(stored.id)
    when = entries.whole_ms(listed.at)
    if state == "scheduled" and when is None:
        left_out.add("the due time is not valid; the job is imported as due at once", stored.id)
    failure = _failure(stored, listed.failure, when)
    is_complete = state == "complete"
    return entries.ImportedJob(
        id=entries.job_id(stored.id, import_id),
        import_id=import_id,
        queue=_queue(stored, last),
        state=state,
        data=payload_of(stored),
        origin=source.origin(stored.id),
        put_at=last.put,
        since={
            "scheduled": when or DUE_AT_ONCE,
            "complete": last.popped or last.put or when,
        }.get(state),
        ended=(last.done or when) if is_complete else None,
        worker=(stored.text("worker") or last.worker) if is_complete else "",
        attempt=sum(stage.popped is not None for stage in stages),
        priority=_priority(left_out, stored),
        tags=_tags(left_out, stored),
        retries=_count(stored, "retries", MOST_RETRIES),
        remaining=_count(stored, "remaining", MOST_RETRIES),
        failure=failure if state == "failed" else None,
        history=_past_stages(stages, state, failure),
        depends_on=tuple(
            entries.job_id(each, entries.import_id_of(each)) for each in listed.depends_on
        ),
        parents=tuple(map(entries.import_id_of, listed.depends_on)),
        tracked=stored.is_tracked,
        source_state=listed.state,
    )


def payload_of(stored: QlessHash) -> bytes:
    """Return the data unchanged; if there is a klass, return a call of the task with that name."""
    data = stored.fields.get(b"data", b"null")
    if KLASS not in stored.fields:
        return data
    args = data if data.lstrip()[:1] == b"{" else b'{"data":' + data + b"}"
    return b'{"task":' + msgspec.json.encode(stored.text("klass")) + b',"args":' + args + b"}"


def _queue(stored: QlessHash, last: QlessStage) -> str:
    given = stored.fields.get(b"queue", b"")
    return entries.queue_name(given if given not in (b"", b"null") else last.queue.encode())


def _priority(left_out: entries.LeftOut, stored: QlessHash) -> float:
    given = stored.text("priority") or "0"
    try:
        found = float(number("priority", float(given)))
    except (ValueError, InvalidArgument):
        left_out.add("the priority is not a number; the job is imported with priority 0", stored.id)
        return 0.0
    return -found if stored.higher_first and found else found


def _tags(left_out: entries.LeftOut, stored: QlessHash) -> tuple[str, ...]:
    given = stored.json("tags")
    if not given and (given is not None or stored.text("tags") in ("", "null")):
        return ()
    try:
        return tuple(tags(given if isinstance(given, list) else None, entries.LIMITS))
    except InvalidArgument:
        left_out.add("the tags are not valid; the job is imported without tags", stored.id)
        return ()


def _count(stored: QlessHash, name: str, maximum: int) -> int | None:
    given = entries.whole_number(stored.text(name))
    return None if given is None else min(max(0, given), maximum)


def _failure(stored: QlessHash, listed: str, when: int | None) -> QlessFailure:
    value = stored.json("failure")
    given: dict[str, Any] = value if isinstance(value, dict) else {}
    failure_type = str(given.get("group") or given.get("type") or listed)
    return (
        failure_type[: entries.LIMITS.name] or "failed",
        str(given.get("message", "")),
        entries.whole_ms(given.get("when")) or when or 0,
        str(given.get("worker", "")),
    )


def read_schedule(
    left_out: entries.LeftOut, stored: QlessHash, queue: str, at: float
) -> entries.FoundSchedule | None:
    """Return the schedule of a recurring job, or None if the job has no interval."""
    every = _count(stored, "interval", LONGEST_MS // 1000)
    if not every:
        left_out.add("recurring job without an interval", stored.id)
        return None
    retries = _count(stored, "retries", MOST_RETRIES)
    options = {
        "every": every,
        "due": entries.whole_ms(at) or 0,
        "backlog": _count(stored, "backlog", MOST_BACKLOG) or None,
        "priority": _priority(left_out, stored),
        "tags": _tags(left_out, stored),
        "retries": UNSET if retries is None else retries,
    }
    return entries.FoundSchedule(
        id=entries.job_id(stored.id, entries.import_id_of(stored.id)),
        import_id=entries.import_id_of("recurring", stored.id),
        queue=queue,
        data=payload_of(stored),
        options=options,
    )


# History.


def read_history(stored: QlessHash) -> list[QlessStage]:
    """Return the stages of a job's history, oldest first."""
    if stored.history_list:
        return _from_events(stored.history_list)
    given = stored.json("history")
    stages = [_stage(each) for each in given] if isinstance(given, list) else []
    return [stage for stage in stages if stage is not None]


def _stage(given: Any) -> QlessStage | None:
    if isinstance(given, list) and given:
        queue, put, popped, done, worker = [*given, *[None] * 5][:5]
        times = (entries.whole_ms(put), entries.whole_ms(popped), entries.whole_ms(done))
        return QlessStage(str(queue), *times, None, str(worker or ""))
    if isinstance(given, dict) and given:
        by_name = {
            name: entries.whole_ms(given.get(name)) for name in ("put", "popped", "done", "failed")
        }
        queue = str(given.get("q") or UNKNOWN_QUEUE)
        return QlessStage(queue, worker=str(given.get("worker", "")), **by_name)
    return None


def _from_events(packed: list[bytes]) -> list[QlessStage]:
    """Convert events {what, when, ...} to stages; each event "put" begins a new stage."""
    stages: list[QlessStage] = []
    for each in packed:
        try:
            event = msgspec.msgpack.decode(each)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(event, dict):
            _apply_event(stages, event)
    return stages


def _apply_event(stages: list[QlessStage], event: dict[str, Any]) -> None:
    what, when = event.get("what"), entries.whole_ms(event.get("when"))
    if what == "put" or not stages:
        queue = event.get("q") or event.get("queue") or UNKNOWN_QUEUE
        stages.append(QlessStage(str(queue), put=when))
    stage = stages[-1]
    if what == "popped":
        if stage.popped is not None:
            stage = QlessStage(stage.queue, put=stage.put)
            stages.append(stage)
        stage.popped, stage.worker = when, str(event.get("worker", ""))
    elif what == "done":
        stage.done = when
    elif what == "failed":
        stage.failed, stage.worker = when, str(event.get("worker", stage.worker))


def _past_stages(
    stages: list[QlessStage], state: str, failure: QlessFailure
) -> tuple[entries.PastStage, ...]:
    """Return all stages except the last; for a failed job, return all stages."""
    over = stages if state == "failed" else stages[:-1]
    failure_type, message, failed_at, _ = failure
    short_message = message.encode()[:SHORT_MESSAGE].decode(errors="ignore")
    past: list[entries.PastStage] = []
    for index, stage in enumerate(over):
        is_last = state == "failed" and index == len(over) - 1
        failed = is_last or (stage.failed is not None and stage.done is None)
        ended = (failed_at if is_last else 0) or stage.done or stage.failed
        past.append(
            (
                stage.queue,
                stage.put or 0,
                stage.popped or False,
                ended or _next_start(stages, index),
                stage.worker,
                "failed" if failed else "completed" if stage.done else "lost",
                (failure_type if is_last else "failed") if failed else "",
                short_message if is_last else "",
            )
        )
    return tuple(past)


def _next_start(stages: list[QlessStage], index: int) -> int:
    """Return the latest possible end of a stage: the start of the next stage."""
    after = stages[index + 1] if index + 1 < len(stages) else stages[index]
    return after.put or after.popped or stages[index].popped or 0
