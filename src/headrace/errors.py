"""The exceptions of Headrace. Unless noted, an operation that raises an error changes nothing.

HeadraceError
├── InvalidArgument         an argument is invalid; nothing was sent; also a ValueError
├── JobError                an error about one job: .job_id
│   ├── JobNotFound         the job never existed, or it finished and is no longer kept
│   ├── JobExists           the id or the unique value of the job is in use; .state
│   ├── TaskFailed          the job failed, so it has no result; .failure, .message
│   ├── WrongState          the operation does not apply to the state of the job; .state
│   ├── HasDependents       the job has dependents, so it was not cancelled; .dependents
│   ├── DependencyRefused   the job cannot have these dependencies; .why
│   ├── LeaseLost           the lease of the job has ended; .state, .worker (the new holder)
│   └── TooMany             too many tags on the job, or too many tracked jobs on its shard; .limit
├── WorkerError             an error about one worker: .worker
│   ├── SessionEnded        the session expired or was ended; start a new session
│   └── SessionRequired     the worker needs a session that serves the queue; .queue
├── QueueNotFound           the queue does not exist; .queue
├── ScheduleNotFound        the schedule does not exist; .schedule_id
├── FeedError               an error about one feed: .feed
│   ├── FeedExists          a feed with this name already exists
│   ├── FeedNotFound        the feed does not exist, or was deleted
│   └── ItemNotFound        the feed has no item with this id; .item_id
├── LakeRefused             the lake is from another event log, or too many lakes exist; .lake
├── WriteError              a write from Spark failed
│   ├── StagedLost          staged rows are no longer on the server
│   ├── WriteAborted        the write was aborted, or expired before its commit; .write
│   ├── WriteLost           the server lost rows of a committed write; .write, .lost
│   └── WriteIdTaken        a write into another queue has the same id; .write, .queue
├── ImportRefused           the source of an import is missing, has the wrong type, or has changed
├── NoResult                the job has no result, or no result yet; .job_id, .state
├── Unreadable              another codec or key wrote this data or result; .payload
├── NamespaceNotFound       the namespace does not exist, and reading does not create it; .namespace
├── NamespaceMismatch       the namespace was created with other settings
├── EventsTrimmed           events were deleted before they were read; .shard, .first, .missing
├── MissingExtra            an optional package is not installed; also an ImportError
├── EmbeddedServerError     the embedded server cannot be started or stopped
├── ServerUnavailable       the server did not reply, or refused the command; .maybe_done
│   └── NotDurable          the call is accepted, but not confirmed as durable in time; .result
└── ScriptError             a bug in a Lua script of Headrace; .op, .where
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HeadraceError(Exception):
    """Base class of all exceptions of Headrace."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling would call __init__ with the message as its only argument.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(
    kind: type[HeadraceError], args: tuple[Any, ...], facts: dict[str, Any]
) -> HeadraceError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidArgument(HeadraceError, ValueError):
    """An argument is invalid. Nothing was sent to the server."""


class JobError(HeadraceError):
    """Base class of errors about one job."""

    def __init__(self, job_id: str, message: str) -> None:
        super().__init__(f"job {job_id!r} {message}")
        self.job_id = job_id


class JobNotFound(JobError):
    """The job never existed, or it finished and is no longer kept."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            job_id, "does not exist: it was never put, or it finished and is no longer kept"
        )


class JobExists(JobError):
    """A job with this id, or with this unique value in the queue, already exists."""

    def __init__(self, job_id: str, state: str, *, unique: bool = False) -> None:
        if unique:
            about = f"has this unique value and is {state}"
            advice = "put with on_exists='replace' to change that job while that job waits"
        else:
            about = f"already exists and is {state}"
            advice = "put with on_exists='move' to move that job to this queue"
        super().__init__(job_id, f"{about}; {advice}")
        self.state = state


class TaskFailed(JobError):
    """The job failed, so it has no result."""

    def __init__(self, job_id: str, failure: str, message: str) -> None:
        super().__init__(job_id, f"failed: {failure}: {message}")
        self.failure = failure
        self.message = message


class WrongState(JobError):
    """The operation does not apply to the state of the job."""

    def __init__(self, job_id: str, state: str) -> None:
        super().__init__(job_id, f"is {state}, and this operation does not apply to that state")
        self.state = state


class HasDependents(JobError):
    """The job has dependents, so it was not cancelled; `dependents` lists some of them."""

    def __init__(self, job_id: str, dependents: list[str]) -> None:
        named = ", ".join(map(repr, dependents))
        super().__init__(
            job_id,
            f"has dependents ({named}), so nothing was cancelled; cancel the dependents in the "
            "same call, or pass cascade=True to cancel all dependents",
        )
        self.dependents = dependents


class DependencyRefused(JobError):
    """The job cannot have these dependencies, and was not changed."""

    def __init__(self, job_id: str, why: str) -> None:
        super().__init__(job_id, _WHY_REFUSED.get(why, f"cannot depend on these: {why}"))
        self.why = why


_WHY_REFUSED = {
    "circle": "would depend on itself, directly or through other jobs, and never run",
    "reach": "has more than 10,000 dependents, too many to check for cycles; put a new job instead",
    "number": "would have more than 5,000 dependencies; use a group instead",
    "permission": "may depend only on jobs of the same call, because the user may only add jobs; "
    "use a user with the permissions of a worker",
    "unmade": "depends on a job that the server refused in the same call",
}


class LeaseLost(JobError):
    """The worker no longer holds the lease of the job; the server refuses the worker's result."""

    def __init__(self, job_id: str, state: str, worker: str = "") -> None:
        now = f"worker {worker!r} has it now" if worker else f"it is {state} now"
        super().__init__(job_id, f"is no longer leased to you: {now}; stop working on it")
        self.state = state
        self.worker = worker


class TooMany(JobError):
    """The job would have too many tags, or its shard would have too many tracked jobs."""

    def __init__(self, job_id: str, what: str, limit: int) -> None:
        super().__init__(job_id, _TOO_MANY[what].format(limit=limit))
        self.limit = limit


_TOO_MANY = {
    "tags": "would have more than {limit} tags; remove some tags with client.tags.remove() first",
    "tracked": "cannot be tracked: its shard has {limit} tracked jobs, the limit; untrack some "
    "jobs, for example jobs that no longer exist (client.tracking.list().gone)",
}


class WorkerError(HeadraceError):
    """Base class of errors about one worker."""

    def __init__(self, worker: str, message: str) -> None:
        super().__init__(f"worker {worker!r} {message}")
        self.worker = worker


class SessionEnded(WorkerError):
    """The worker's session expired or was ended; the worker's jobs returned to their queues."""

    def __init__(self, worker: str) -> None:
        super().__init__(
            worker,
            "has no session with this token: the session has ended, and its jobs returned to their "
            "queues; start a new session",
        )


class SessionRequired(WorkerError):
    """The queue requires that a worker has a session and serves the queue."""

    def __init__(self, worker: str, queue: str) -> None:
        super().__init__(
            worker,
            f"must have a session and serve queue {queue!r} first: "
            f"session = client.session({worker!r}); session.serve({queue!r})",
        )
        self.queue = queue


class QueueNotFound(HeadraceError):
    """The queue does not exist."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"queue {queue!r} does not exist; the first put creates it")
        self.queue = queue


class ScheduleNotFound(HeadraceError):
    """The schedule does not exist."""

    def __init__(self, schedule_id: str) -> None:
        super().__init__(
            f"schedule {schedule_id!r} does not exist; "
            f"create it with queue.schedule({schedule_id!r}, data, every=seconds)"
        )
        self.schedule_id = schedule_id


class FeedError(HeadraceError):
    """Base class of errors about one feed."""

    def __init__(self, feed: str, message: str) -> None:
        super().__init__(f"feed {feed!r} {message}")
        self.feed = feed


class FeedExists(FeedError):
    """A feed with this name already exists."""

    def __init__(self, feed: str) -> None:
        super().__init__(feed, f"already exists; client.feed({feed!r}) opens it")


class FeedNotFound(FeedError):
    """The feed never existed, was deleted, or was deleted and created again as another kind."""

    def __init__(self, feed: str) -> None:
        super().__init__(
            feed,
            "does not exist, or was deleted and created again as another kind; "
            f"client.feed({feed!r}) opens or creates it",
        )


class ItemNotFound(FeedError):
    """The feed has no item with this id."""

    def __init__(self, feed: str, item_id: str) -> None:
        super().__init__(feed, f"has no item {item_id!r}; nothing was changed")
        self.item_id = item_id


class LakeRefused(HeadraceError):
    """The lake contains the events of another event log, or too many lakes exist."""

    def __init__(self, lake: str, message: str) -> None:
        super().__init__(f"lake {lake!r}: {message}")
        self.lake = lake


class WriteError(HeadraceError):
    """A write from Spark failed."""


class StagedLost(WriteError):
    """The server lost staged rows of a write before the write was committed."""

    def __init__(self) -> None:
        super().__init__(
            "the server no longer has the rows that were staged for this write: staged rows expire "
            "after a day, or the server lost its data. Nothing was published; write the DataFrame "
            "again"
        )


class WriteAborted(WriteError):
    """The write was aborted, or expired before its commit."""

    def __init__(self, write: str) -> None:
        super().__init__(
            f"write {write!r} was aborted: Spark aborted it, more than a day passed before its "
            "commit, or the server lost its data. No row was published; write the DataFrame again"
        )
        self.write = write


class WriteLost(WriteError):
    """The server lost a write, or some of its rows, after the commit."""

    def __init__(self, write: str, rows: int = 0, lost: Mapping[int, int] | None = None) -> None:
        if lost:
            lacking = ", ".join(f"shard {shard} lacks {count}" for shard, count in lost.items())
            about = (
                f"{lacking} of its {rows} rows: the server lost them after the commit; the other "
                "rows are jobs"
            )
        else:
            about = (
                "the write was committed, but the server lost its data and no longer knows the "
                "write; it is unknown which rows are jobs"
            )
        super().__init__(f"write {write!r}: {about}. Write the missing rows again, with another id")
        self.write = write
        self.lost = dict(lost or {})


class WriteIdTaken(WriteError):
    """A write into another queue already has this id."""

    def __init__(self, write: str, queue: str) -> None:
        super().__init__(
            f"the id of write {write!r} was already used for a write into queue {queue!r}: nothing "
            "was published; use another writeId, or for a stream another checkpoint"
        )
        self.write = write
        self.queue = queue


class ImportRefused(HeadraceError):
    """The source of an import is missing, has the wrong type, or changed while it was read."""


class NoResult(HeadraceError):
    """The job has no result, or no result yet."""

    def __init__(self, job_id: str, state: str) -> None:
        if state == "complete":
            about = "is complete and has no result: the result was never set, was taken or expired"
        else:
            about = f"is {state} and has no result yet; result(id, wait=seconds) waits for it"
        super().__init__(f"job {job_id!r} {about}")
        self.job_id = job_id
        self.state = state


class Unreadable(HeadraceError):
    """The codec of this client cannot decode the data or the result."""

    def __init__(self, codec: str, payload: bytes, why: str, advice: str = "") -> None:
        advice = advice or (
            "another codec wrote it; connect with that codec, or with codec='raw' to get the bytes"
        )
        super().__init__(f"cannot decode this payload as {codec} ({why}): {advice}")
        self.payload = payload


class NamespaceNotFound(HeadraceError):
    """The namespace does not exist; a client that only reads does not create a namespace."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"namespace {namespace!r} does not exist on this server, and reading does not create "
            "it; the first put creates it"
        )
        self.namespace = namespace


class NamespaceMismatch(HeadraceError):
    """The namespace on the server was created with other settings."""


class EventsTrimmed(HeadraceError):
    """Events were deleted from the log of a shard before they were read."""

    def __init__(self, shard: int, first: int, missing: int) -> None:
        super().__init__(
            f"{missing} events of shard {shard}, from number {first} on, were deleted from the log "
            "before they were read; to continue without them, set the option failOnDataLoss to "
            "false (a row of kind 'gap' then replaces them); to keep more events, raise "
            "events_count, events_age or, for a lake, events_cap"
        )
        self.shard = shard
        self.first = first
        self.missing = missing


class MissingExtra(HeadraceError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'headrace[{extra}]'")


class EmbeddedServerError(HeadraceError):
    """The embedded server cannot be started or stopped."""


class ServerUnavailable(HeadraceError):
    """The server did not reply, even after retries, or refused the command.

    If `maybe_done` is true, the server may have carried out the call.
    """

    def __init__(self, message: str, *, maybe_done: bool) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class NotDurable(ServerUnavailable):
    """The server accepted the call, but did not confirm in time that the call is stored durably.

    `result` is the return value of the call, for example the id of the job. `maybe_done` is
    always true.
    """

    def __init__(self, shortfall: str, result: Any) -> None:
        super().__init__(
            f"{shortfall}. The server accepted the call, so do not repeat it; the effect is lost "
            "only if the server fails before it has stored its newest data",
            maybe_done=True,
        )
        self.result = result


class ScriptError(HeadraceError):
    """A bug in a Lua script of Headrace; `where` is the file and line of the error."""

    def __init__(self, op: str, where: str, message: str) -> None:
        super().__init__(f"{op} failed at {where}: {message}")
        self.op = op
        self.where = where
