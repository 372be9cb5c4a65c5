"""Jobs that wait for other jobs: dependencies, groups and chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from headrace.engine import keys
from headrace.engine.call import pack
from headrace.engine.check import listed, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.durability import confirmed
from headrace.operations.finishing import sole
from headrace.operations.ids import (
    MOST_LINKS,
    check_together,
    new_id,
    parents_of,
    spare_id,
)
from headrace.operations.jobs import checked_rows, state_calls
from headrace.operations.protocols import ClientLike, GroupLike
from headrace.operations.putting import (
    Item,
    check_order,
    parents_of_row,
    put_call,
    put_many,
    put_with_options,
    row_of,
)
from headrace.operations.queues import QueueRef, check_name
from headrace.operations.requests import ask_one, raw
from headrace.options import JobOptions, Put, check_options
from headrace.transport.drive import Operation

# Dependencies of an existing job.


def depend(client: ClientLike, job_id: str, on: Iterable[str]) -> Operation[str]:
    """Add dependencies to a job and return the job's new state.

    The job must be waiting, scheduled or blocked. Dependencies that are complete or unknown count
    as fulfilled.

    Raises DependencyRefused if the job would depend on itself or on more than 1,000 jobs,
    JobNotFound if the job does not exist, and WrongState if the job is running or finished.

        client.dependencies.add("report", ["import-1", "import-2"])
    """
    return (yield from depend_in_state(client, job_id, on, state=""))


def depend_in_state(
    client: ClientLike, job_id: str, on: Iterable[str], *, state: str
) -> Operation[str]:
    """Add dependencies like `depend`, but only if the job is in `state`; "" accepts every state."""
    core = client.core
    rows = checked_rows(core, [job_id])
    make = state_calls("depend", parents=pack(parents_of(core, [job_id], on)), state=state)
    return sole((yield from in_batches(core, rows, make)))


def undepend(client: ClientLike, job_id: str, *ids: str) -> Operation[str]:
    """Remove dependencies of a blocked job (all, if no ids are passed); return the job's new state.

    Raises JobNotFound if the job does not exist, and WrongState if the job is not blocked.

        client.dependencies.remove("summary", "import-1")
    """
    core = client.core
    rows = checked_rows(core, [job_id])
    parents = pack(parents_of(core, [job_id], ids)) if ids else b""
    return sole((yield from in_batches(core, rows, state_calls("undepend", parents=parents))))


# Groups.


def group_name(core: Core, name: str | None) -> str:
    """Check and return the name of a group; return a new name if the name is None."""
    return new_id() if name is None else text("group", name, core.limits.name)


def put_member(
    group: GroupLike, /, queue: str, data: Any, **options: Unpack[JobOptions]
) -> Operation[str]:
    """Put a job into a queue as a member of the group and return the job id; see Queue.put.

    Raises the errors of Queue.put.

        group.put("resize", {"image": "cat.png"})
    """
    target = QueueRef(group.core, queue)
    return (yield from put_with_options(target, data, {**options, "group": group.name}))


def put_members(
    group: GroupLike, /, queue: str, items: Iterable[Any], **options: Unpack[JobOptions]
) -> Operation[list[str]]:
    """Put many jobs as members of the group and return the job ids; see Queue.put_many.

    Raises the errors of Queue.put_many.

        group.put_many("resize", images)
    """
    target = QueueRef(group.core, queue)
    options["group"] = group.name
    return (yield from put_many(target, items, **options))


def then(
    group: GroupLike, /, queue: str, data: Any, **options: Unpack[JobOptions]
) -> Operation[str]:
    """Put a job that starts when every member of the group is finished, and return the job id.

    Members may be added until the last member is finished. If a member fails, `if_dependency_fails`
    decides what happens to the job. With "run", a failed member counts as finished. The other
    options are those of Queue.put.

    Raises the errors of Queue.put.

        group.then("notify", {"to": "ada@example.org"}, if_dependency_fails="run")
    """
    target = QueueRef(group.core, queue)
    return (yield from put_with_options(target, data, options, after=group.name))


def pending(group: GroupLike) -> Operation[int]:
    """Return the number of unfinished members; a failed member counts as unfinished.

    Raises ServerUnavailable if the server does not answer.

        print(group.pending())
    """
    core = group.core
    shard = core.shard_of(group.name)
    [members] = yield from raw(core, [(shard, ("ZCARD", core.key(shard, keys.group(group.name))))])
    return int(members)


# Chains.


def chain(
    client: ClientLike,
    steps: Iterable[tuple[str, Any]],
    *,
    if_dependency_fails: str | None = None,
) -> Operation[list[str]]:
    """Put jobs that each depend on the previous job, in one atomic step; return the ids in order.

    A step is a tuple (queue, data) or (queue, Put(data, id=..., priority=...)).

    Raises InvalidArgument if a step is malformed or the jobs cannot share a shard, and JobExists if
    another job has the same `unique` value.

        client.chain([("fetch", {"url": url}), ("parse", {}), ("store", Put({}, priority=5))])
    """
    core = client.core
    every = _checked_steps(core, steps)
    shared = check_options({"if_dependency_fails": if_dependency_fails}, core.limits)
    rows = _chained(core, every, shared)
    if sum(len(parents_of_row(row, {})) for row in rows) > MOST_LINKS:
        raise InvalidArgument(
            f"a chain may have at most {MOST_LINKS} dependencies; let a step depend on one job "
            "that waits for a group (group.then)"
        )
    call = put_call(every[0][0], rows, shared, "move")
    request = ask_one(core, core.shard_of(rows[0][0]), call)
    answers = yield from confirmed(core, None, request)
    for answer in answers:
        if isinstance(answer, HeadraceError):
            raise answer
    return [str(answer) for answer in answers]


def _checked_steps(core: Core, steps: Iterable[tuple[str, Any]]) -> list[tuple[str, Put]]:
    every = listed("steps", steps, "(queue, data)")
    if not 1 <= len(every) <= core.limits.batch:
        raise InvalidArgument(f"a chain must have 1 to {core.limits.batch} steps, not {len(every)}")
    found = []
    for step in every:
        if not isinstance(step, tuple) or len(step) != 2:
            raise InvalidArgument(
                "each step of a chain must be a (queue, data) pair such as ('fetch', {...})"
            )
        queue, item = step
        found.append((check_name(core, queue), item if isinstance(item, Put) else Put(item)))
    return found


def _anchors(core: Core, steps: list[tuple[str, Put]]) -> Iterator[str]:
    """Yield the names that determine the shard of the chain."""
    for _, item in steps:
        for name in ("id", "group", "key"):
            value: Any = item.options.get(name)
            if value is not None:
                yield text(name, value, core.limits.name)


def _chained(core: Core, steps: list[tuple[str, Put]], shared: dict[str, Any]) -> list[Item]:
    anchor = next(_anchors(core, steps), new_id())
    rows: list[Item] = []
    for queue, item in steps:
        unused_id = spare_id(core, anchor)
        job_id, payload, spare, own = row_of(core, queue, item, unused_id, shared)
        depends_on = (own or {}).get("depends_on", [])
        if rows:
            depends_on = [rows[-1][0], *depends_on]
        check_together(core, [(f"step {anchor!r}", anchor), (f"step {job_id!r}", job_id)])
        rows.append(
            (job_id, payload, spare, {**(own or {}), "queue": queue, "depends_on": depends_on})
        )
    check_order(rows, {})
    return rows
