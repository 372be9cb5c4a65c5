"""Jobs that wait for other jobs: dependencies given later, groups and chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, Unpack

from headrace.engine.call import Answer, Call, build, each_state, pack
from headrace.engine.check import listed, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.finishing import sole
from headrace.operations.ids import (
    MOST_LINKS,
    check_together,
    new_id,
    new_nonce,
    parents_of,
    spare_id,
)
from headrace.operations.jobs import checked_rows
from headrace.operations.protocols import ClientLike
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
from headrace.operations.requests import ask_one
from headrace.options import JobOptions, Put, check_options
from headrace.transport.drive import Operation

# dependencies of a job that exists


def depend(client: ClientLike, job_id: str, on: Iterable[str]) -> Operation[str]:
    """Lets a job that waits, is scheduled or blocked depend on others too; returns its state.

    What is complete or unknown counts for nothing. Raises DependencyRefused if the job would then
    depend on itself.
    """
    core = client.core
    text("id", job_id, core.limits.name)
    return (yield from _change(core, "depend", job_id, pack(parents_of(core, [job_id], on))))


def undepend(client: ClientLike, job_id: str, *ids: str) -> Operation[str]:
    """Lets a blocked job no longer depend on these, without ids on anything; returns its state."""
    core = client.core
    text("id", job_id, core.limits.name)
    parents = pack(parents_of(core, [job_id], ids)) if ids else b""
    return (yield from _change(core, "undepend", job_id, parents))


def _change(core: Core, op: str, job_id: str, parents: bytes) -> Operation[str]:
    def make(rows: Sequence[tuple[Any, ...]]) -> Call[list[Answer]]:
        return build(op, each_state([str(row[0]) for row in rows]), rows, parents=parents)

    return sole((yield from in_batches(core, checked_rows(core, [job_id]), make)))


# groups


class GroupLike(Protocol):
    """A group of a client."""

    @property
    def core(self) -> Core: ...

    @property
    def name(self) -> str: ...


def group_name(core: Core, name: str | None) -> str:
    """The name of a group, a new one if none is given."""
    return new_id() if name is None else text("group", name, core.limits.name)


def put_member(
    group: GroupLike, /, queue: str, data: Any, **options: Unpack[JobOptions]
) -> Operation[str]:
    """Put a job into a queue as a member of the group and return its id; see Queue.put."""
    where = QueueRef(group.core, queue)
    return (yield from put_with_options(where, data, {**options, "group": group.name}))


def put_members(
    group: GroupLike, /, queue: str, items: Iterable[Any], **options: Unpack[JobOptions]
) -> Operation[list[str]]:
    """Put many jobs as members of the group and return their ids; see Queue.put_many."""
    where = QueueRef(group.core, queue)
    options["group"] = group.name
    return (yield from put_many(where, items, **options))


def then(
    group: GroupLike, /, queue: str, data: Any, **options: Unpack[JobOptions]
) -> Operation[str]:
    """Put a job that starts when every member of the group is finished, and return its id.

    Members may be added until then. If a member fails, `if_dependency_fails` decides about the job;
    with "run" a failed member counts as finished. The other options are those of Queue.put.
    """
    where = QueueRef(group.core, queue)
    return (yield from put_with_options(where, data, options, after=group.name))


def pending(group: GroupLike) -> Operation[int]:
    """How many members are not over yet; failed ones are not."""
    core = group.core
    call = build("pending", list, [(group.name,)])
    [members] = yield from ask_one(core, core.shard_of(group.name), call)
    return int(members)


# chains


def chain(
    client: ClientLike,
    steps: Iterable[tuple[str, Any]],
    *,
    if_dependency_fails: str | None = None,
) -> Operation[list[str]]:
    """Puts jobs of which each depends on the one before, in one step; returns their ids in order.

    A step is a queue and data, or a queue and a Put(data, id=..., priority=...).
    """
    core = client.core
    every = _checked_steps(core, steps)
    shared = check_options({"if_dependency_fails": if_dependency_fails}, core.limits)
    rows = _chained(core, every, shared)
    if sum(len(parents_of_row(row, {})) for row in rows) > MOST_LINKS:
        raise InvalidArgument(
            f"a chain may have {MOST_LINKS} dependencies; let steps wait for a group"
        )
    call = put_call(every[0][0], rows, pack(shared) if shared else b"", "move", new_nonce())
    answers = yield from ask_one(core, core.shard_of(rows[0][0]), call)
    for answer in answers:
        if isinstance(answer, HeadraceError):
            raise answer
    return [str(answer) for answer in answers]


def _checked_steps(core: Core, steps: Iterable[tuple[str, Any]]) -> list[tuple[str, Put]]:
    every = listed("steps", steps, "(queue, data)")
    if not 1 <= len(every) <= core.limits.batch:
        raise InvalidArgument(f"a chain has 1 to {core.limits.batch} steps, not {len(every)}")
    found = []
    for step in every:
        if not isinstance(step, tuple) or len(step) != 2:
            raise InvalidArgument("a step of a chain is a queue and data: ('fetch', {...})")
        queue, item = step
        found.append((check_name(core, queue), item if isinstance(item, Put) else Put(item)))
    return found


def _anchors(core: Core, steps: list[tuple[str, Put]]) -> Iterator[str]:
    """What says where the chain must live."""
    for _, item in steps:
        for name in ("id", "group", "key"):
            value: Any = item.options.get(name)
            if value is not None:
                yield text(name, value, core.limits.name)


def _chained(core: Core, steps: list[tuple[str, Put]], shared: dict[str, Any]) -> list[Item]:
    anchor = next(_anchors(core, steps), new_id())
    rows: list[Item] = []
    for queue, item in steps:
        fresh = spare_id(core, anchor)
        job_id, payload, spare, own = row_of(core, item, fresh, shared)
        depends_on = (own or {}).get("depends_on", [])
        if rows:
            depends_on = [rows[-1][0], *depends_on]
        check_together(core, [(f"step {anchor!r}", anchor), (f"step {job_id!r}", job_id)])
        rows.append(
            (job_id, payload, spare, {**(own or {}), "queue": queue, "depends_on": depends_on})
        )
    check_order(rows, {})
    return rows
