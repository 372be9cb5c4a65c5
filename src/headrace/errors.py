"""What can go wrong, as one tree. A refused operation has changed nothing.

HeadraceError
├── InvalidArgument         bad input, found before anything was sent; also a ValueError
├── JobError                about one job: .job_id
│   ├── JobNotFound         it never was, or it is over and forgotten
│   ├── JobExists           its id or its unique value is taken, and not to be replaced; .state
│   ├── TaskFailed          the job is failed, so its task has no result; .failure, .message
│   ├── WrongState          the job is not in a state that allows this; .state
│   ├── HasDependents       a cancel of a job on which others depend; .dependents
│   ├── DependencyRefused   the job cannot depend on what it was to depend on
│   ├── LeaseLost           the job is no longer yours; .state, and .worker has it now, if anyone
│   └── TooMany             no room for more tags of a job, or more tracked jobs of a shard; .limit
├── WorkerError             about one worker: .worker
│   ├── SessionEnded        the session lapsed or was ended; start a new one
│   └── SessionRequired     this queue is only for workers with a session that serve it
├── QueueNotFound           no such queue; .queue
├── ScheduleNotFound        no such schedule; .schedule_id
├── FeedError               about one feed: .feed
│   ├── FeedExists          a feed of this name is already there
│   ├── FeedNotFound        no such feed, or no longer
│   └── ItemNotFound        the feed has no such item; .item_id
├── LakeRefused             the server has another log than this lake, or too many lakes; .lake
├── WriteError              about a write from Spark
│   ├── StagedLost          the server lost staged rows before the commit; nothing was published
│   ├── WriteAborted        the write was aborted or waited too long for its commit; .write
│   ├── WriteLost           the server lost rows after the commit; .write, .lost
│   └── WriteIdTaken        its id belongs to a write into another queue; .write, .queue
├── ImportRefused           what is to be imported is not there, is something else, or has changed
├── NoResult                the job has no result (yet); .state
├── Unreadable              data or a result was written by another codec or key; .payload
├── NamespaceNotFound       no such namespace, and who only reads makes none; .namespace
├── NamespaceMismatch       the namespace was made with other settings than the ones asked for
├── EventsTrimmed           events were dropped from the log before they were read; .shard, .missing
├── MissingExtra            a package of an extra is not installed; also an ImportError
├── EmbeddedServerError     the embedded server cannot be started or stopped
├── ServerUnavailable       the server did not answer, also after retries, or refused; .maybe_done
└── ScriptError             a fault in Headrace itself: .op and .where
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HeadraceError(Exception):
    """The root: catch this to catch everything Headrace raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross processes: they are rebuilt as they are, not from their message.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(
    kind: type[HeadraceError], args: tuple[Any, ...], facts: dict[str, Any]
) -> HeadraceError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidArgument(HeadraceError, ValueError):
    """An argument was refused before anything was sent."""


class JobError(HeadraceError):
    """Something about one job."""

    def __init__(self, job_id: str, message: str) -> None:
        super().__init__(f"job {job_id!r} {message}")
        self.job_id = job_id


class JobNotFound(JobError):
    """The job never was, or it is over and no longer kept."""

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id, "is unknown: it never was, or it is over and no longer kept")


class JobExists(JobError):
    """A job of this id, or of this unique value in the queue, is already there."""

    def __init__(self, job_id: str, state: str, *, unique: bool = False) -> None:
        if unique:
            about = f"has this unique value and is {state}"
            advice = "put with on_exists='replace' to change the one that waits"
        else:
            about = f"already exists and is {state}"
            advice = "put it with on_exists='move' to take it over"
        super().__init__(job_id, f"{about}; {advice}")
        self.state = state


class TaskFailed(JobError):
    """The task of the job failed, so there is no result."""

    def __init__(self, job_id: str, failure: str, message: str) -> None:
        super().__init__(job_id, f"failed: {failure}: {message}")
        self.failure = failure
        self.message = message


class WrongState(JobError):
    """The job is not in a state that allows this operation."""

    def __init__(self, job_id: str, state: str) -> None:
        super().__init__(job_id, f"is {state}, and this operation does not apply to that state")
        self.state = state


class HasDependents(JobError):
    """Others depend on the job, so it is not cancelled without them; some of them are named."""

    def __init__(self, job_id: str, dependents: list[str]) -> None:
        named = ", ".join(map(repr, dependents))
        super().__init__(
            job_id,
            f"is what others depend on ({named}): nothing was cancelled; name all of them in the "
            "same call, or give cascade=True to cancel whatever depends on it",
        )
        self.dependents = dependents


class DependencyRefused(JobError):
    """The job cannot depend on what it was to depend on; it is as it was."""

    def __init__(self, job_id: str, why: str) -> None:
        super().__init__(job_id, _WHY_REFUSED.get(why, f"cannot depend on these: {why}"))
        self.why = why


_WHY_REFUSED = {
    "circle": "would depend on itself, directly or through others, and never run",
    "reach": "has more than 10,000 that depend on it: whether it would depend on itself is not "
    "looked for so far; put a new job instead",
    "number": "would depend on more than 1,000 others; let it depend on a group",
    "unmade": "depends on a job of the same call that was refused",
}


class LeaseLost(JobError):
    """Somebody took the job back. Stop working on it: what you do no longer counts."""

    def __init__(self, job_id: str, state: str, worker: str = "") -> None:
        where = f"is with worker {worker!r} now" if worker else f"is {state} now"
        super().__init__(job_id, f"is no longer yours: it {where}; stop working on it")
        self.state = state
        self.worker = worker


class TooMany(JobError):
    """The job cannot have that many tags, or cannot be tracked beside so many others."""

    def __init__(self, job_id: str, what: str, limit: int) -> None:
        super().__init__(job_id, _TOO_MANY[what].format(limit=limit))
        self.limit = limit


_TOO_MANY = {
    "tags": "may have {limit} tags and would have more; untag it first",
    "tracked": "cannot be tracked: {limit} of its shard are; untrack some, tracked().gone names "
    "those that are over",
}


class WorkerError(HeadraceError):
    """Something about one worker."""

    def __init__(self, worker: str, message: str) -> None:
        super().__init__(f"worker {worker!r} {message}")
        self.worker = worker


class SessionEnded(WorkerError):
    """The worker's session lapsed or was ended; its jobs went back to their queues."""

    def __init__(self, worker: str) -> None:
        super().__init__(
            worker, "has no such session any more, and its jobs were given back; start a new one"
        )


class SessionRequired(WorkerError):
    """The queue is only for workers that have a session and serve it."""

    def __init__(self, worker: str, queue: str) -> None:
        super().__init__(
            worker,
            f"must have a session and serve queue {queue!r} first: "
            f"session = client.session({worker!r}); session.serve({queue!r})",
        )
        self.queue = queue


class QueueNotFound(HeadraceError):
    """No such queue."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"queue {queue!r} does not exist; the first put makes it")
        self.queue = queue


class ScheduleNotFound(HeadraceError):
    """No such schedule."""

    def __init__(self, schedule_id: str) -> None:
        super().__init__(
            f"schedule {schedule_id!r} does not exist; "
            f"make it with queue.schedule({schedule_id!r}, data, every=seconds)"
        )
        self.schedule_id = schedule_id


class FeedError(HeadraceError):
    """Something about one feed."""

    def __init__(self, feed: str, message: str) -> None:
        super().__init__(f"feed {feed!r} {message}")
        self.feed = feed


class FeedExists(FeedError):
    """A feed of this name is already there."""

    def __init__(self, feed: str) -> None:
        super().__init__(feed, f"already exists; client.feed({feed!r}) opens it")


class FeedNotFound(FeedError):
    """No such feed: it never was, or it was deleted, and perhaps made again as another kind."""

    def __init__(self, feed: str) -> None:
        super().__init__(
            feed, f"does not exist, or no longer as it was; client.feed({feed!r}) opens or makes it"
        )


class ItemNotFound(FeedError):
    """The feed has no item of this id."""

    def __init__(self, feed: str, item_id: str) -> None:
        super().__init__(feed, f"has no item {item_id!r}; nothing was changed")
        self.item_id = item_id


class LakeRefused(HeadraceError):
    """The server does not take it that a lake has events up to there."""

    def __init__(self, lake: str, message: str) -> None:
        super().__init__(f"lake {lake!r}: {message}")
        self.lake = lake


class WriteError(HeadraceError):
    """A write from Spark failed."""


class StagedLost(WriteError):
    """The server lost rows that were staged for a write, before the commit."""

    def __init__(self) -> None:
        super().__init__(
            "the server no longer has the rows that were staged for this write: they expire after "
            "a day, or the server lost its data; nothing was published, write the DataFrame again"
        )


class WriteAborted(WriteError):
    """The write was aborted, or waited too long for its commit."""

    def __init__(self, write: str) -> None:
        super().__init__(
            f"write {write!r} was aborted: by Spark, because more than a day passed before its "
            "commit, or because the server lost its data; nothing of it was published, write the "
            "DataFrame again"
        )
        self.write = write


class WriteLost(WriteError):
    """The server lost a write, or rows of it, after the commit."""

    def __init__(self, write: str, rows: int = 0, lost: Mapping[int, int] | None = None) -> None:
        if lost:
            lacking = ", ".join(f"shard {shard} lacks {count}" for shard, count in lost.items())
            about = (
                f"{lacking} of its {rows} rows: the server lost them after the commit; the other "
                "rows are jobs"
            )
        else:
            about = (
                "the server no longer knows it, although it was committed: the server lost its "
                "data, and it is unknown which rows are jobs"
            )
        super().__init__(f"write {write!r}: {about}. Write the missing rows again, with another id")
        self.write = write
        self.lost = dict(lost or {})


class WriteIdTaken(WriteError):
    """There is already a write with this id, into another queue."""

    def __init__(self, write: str, queue: str) -> None:
        super().__init__(
            f"the id of write {write!r} was already used for a write into queue {queue!r}: nothing "
            "was published; use another writeId, or for a stream another checkpoint"
        )
        self.write = write
        self.queue = queue


class ImportRefused(HeadraceError):
    """What is to be imported is not there, is of another kind, or has changed while it was read."""


class NoResult(HeadraceError):
    """The job has no result, or not yet."""

    def __init__(self, job_id: str, state: str) -> None:
        if state == "complete":
            about = "is complete and has no result: none was given, or it was taken or is over"
        else:
            about = f"is {state} and has no result yet; wait for it: result(id, wait=seconds)"
        super().__init__(f"job {job_id!r} {about}")
        self.job_id = job_id
        self.state = state


class Unreadable(HeadraceError):
    """Data or a result cannot be read by the codec of this client."""

    def __init__(self, codec: str, payload: bytes, why: str, advice: str = "") -> None:
        advice = advice or (
            "it was written by another codec; "
            "connect with that one, or with codec='raw' to get the bytes"
        )
        super().__init__(f"this cannot be read as {codec} ({why}): {advice}")
        self.payload = payload


class NamespaceNotFound(HeadraceError):
    """No such namespace."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"there is no namespace {namespace!r} on this server, so nothing can be read from it; "
            "the first put makes one"
        )
        self.namespace = namespace


class NamespaceMismatch(HeadraceError):
    """The namespace on the server was made with other settings."""


class EventsTrimmed(HeadraceError):
    """Events are gone from the log of a shard that were to be read."""

    def __init__(self, shard: int, first: int, missing: int) -> None:
        super().__init__(
            f"{missing} events of shard {shard}, from number {first} on, were dropped from the log "
            "before they were read: to go on without them, set option failOnDataLoss to false (a "
            "row of kind 'gap' then stands for them); to keep more, raise events_count, events_age "
            "or, for a lake, events_cap"
        )
        self.shard = shard
        self.first = first
        self.missing = missing


class MissingExtra(HeadraceError, ImportError):
    """What was asked for needs a package that comes with an extra."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'headrace[{extra}]'")


class EmbeddedServerError(HeadraceError):
    """The embedded server cannot be started or stopped."""


class ServerUnavailable(HeadraceError):
    """The server did not answer, or refused. If maybe_done, the call may have been carried out."""

    def __init__(self, message: str, *, maybe_done: bool) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class ScriptError(HeadraceError):
    """A fault in Headrace itself, with the Lua file and line it came from."""

    def __init__(self, op: str, where: str, message: str) -> None:
        super().__init__(f"{op} failed at {where}: {message}")
        self.op = op
        self.where = where
