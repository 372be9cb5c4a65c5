"""Schedules: jobs that are put again and again, by an interval or by a cron expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from headrace.engine.call import Call, build, is_refusal, optional, packed
from headrace.engine.check import Span, milliseconds, page, text
from headrace.engine.shard import id_prefix_on_shard
from headrace.errors import InvalidArgument, ScheduleNotFound
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.ids import new_nonce, settled_id
from headrace.operations.jobs import checked_rows
from headrace.operations.paging import ids_of_page
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.putting import encoded
from headrace.operations.requests import ask_one
from headrace.operations.schedule_values import (
    Fields,
    Schedule,
    backlog_of,
    changed_rule,
    check_change,
    located,
    options_in,
    read_schedule,
    rule_of,
)
from headrace.options import SCHEDULE_OPTIONS, UNSET, ScheduleOptions, Unset, check_options
from headrace.transport.drive import Operation

# What the id of a job has beyond that of its schedule: braces, a dash, a number.
NUMBER_BYTES = 20


def schedule_queue(
    queue: QueueLike,
    id: str,  # noqa: A002 - the word users know
    data: Any,
    *,
    every: Span | None = None,
    cron: str | None = None,
    zone: str = "UTC",
    delay: Span | None = None,
    backlog: int | None = 0,
    **options: Unpack[ScheduleOptions],
) -> Operation[Schedule]:
    """Create a schedule that puts a job again and again, or replace the one with this id.

    Pass `every`, an interval that begins at once or after `delay`, or `cron`, an expression in the
    time zone `zone`. A schedule whose rule is unchanged goes on where it was unless a delay is
    given, so a program may call this whenever it starts. If runs were missed, the newest one is
    made up for, and `backlog` more (None: all). With `unique` (a text, or True for the schedule
    itself) a run is skipped while such a job exists. ScheduleOptions lists the other options.

        queue.schedule("report", {"kind": "daily"}, cron="0 6 * * *", zone="Europe/Berlin")
    """
    core = queue.core
    given = _checked(core, id, options)
    _check_id(core, id, given)
    rule = rule_of(every, cron, zone)
    now, stored = (yield from read_stored(core, id)) if cron is not None else (0, None)
    fields = {
        "data": encoded(core, data),
        "options": packed(given),
        "prefix": _prefix(core, id),
        "backlog": backlog_of(backlog),
        **located(rule, now, stored),
    }
    delay_ms = -1 if delay is None else milliseconds("delay", delay)
    written = yield from _write(core, id, queue.name, fields, None, delay_ms)
    return read_schedule(core.codec, id, written or {})


def adopt_schedule(
    queue: QueueLike,
    name: str,
    badge: str,
    id: str,  # noqa: A002 - as above
    data: bytes,
    *,
    every: Span,
    due: int,
    backlog: int | None,
    **options: Any,
) -> Operation[bool]:
    """Makes a schedule that another queue had, once for an import, and not where there is one of
    this id. Its next turn comes when it is due, in milliseconds; whether it was made now.
    """
    core = queue.core
    given = check_options(options, core.limits)
    _check_id(core, id, given)
    now, _ = yield from read_stored(core, id)
    fields = {
        "data": data,
        "options": packed(given),
        "prefix": _prefix(core, id),
        "backlog": backlog_of(backlog),
        **rule_of(every, None, "UTC"),
    }
    once = (name, badge)
    written = yield from _write(core, id, queue.name, fields, None, max(0, due - now), once)
    return written is not None


def reschedule(
    client: ClientLike,
    id: str,  # noqa: A002 - the word users know
    *,
    data: Any = UNSET,
    every: Span | Unset = UNSET,
    cron: str | Unset = UNSET,
    zone: str | Unset = UNSET,
    backlog: int | Unset | None = UNSET,
    **options: Unpack[ScheduleOptions],
) -> Operation[Schedule]:
    """Change the given properties of a schedule and return it.

    With a new interval the next run comes one interval after the last. An option that is None, or
    unique=False, is removed; retries=None means retries without a limit.

    Raises ScheduleNotFound if there is no schedule with this id.
    """
    core = client.core
    given = _checked(core, id, options)
    _check_id(core, id, given)
    check_change(every, cron, zone)
    new: Fields = {} if data is UNSET else {"data": encoded(core, data)}
    if backlog is not UNSET:
        new["backlog"] = backlog_of(backlog)
    while True:
        now, stored = yield from read_stored(core, id)
        if stored is None:
            raise ScheduleNotFound(id)
        rule = changed_rule(stored, every, cron, zone)
        kept = {name: stored[name] for name in ("data", "backlog", "prefix")}
        unchanged = {
            name: value for name, value in options_in(stored).items() if name not in options
        }
        fields = {
            **kept,
            **new,
            "options": packed({**unchanged, **given}),
            **located(rule, now, stored),
        }
        written = yield from _write(core, id, stored["queue"].decode(), fields, stored["by"], -1)
        if written is not None:
            return read_schedule(core.codec, id, written)


def unschedule(client: ClientLike, *ids: str) -> Operation[list[str]]:
    """Ends schedules and returns the ids of those that there were; the jobs they made stay."""
    rows = checked_rows(client.core, ids)

    def make(part: Sequence[Row]) -> Call[list[int]]:
        return build("unschedule", list, part)

    answers = yield from in_batches(client.core, rows, make)
    return [one for one, answer in zip(ids, answers, strict=True) if answer]


def schedule(client: ClientLike, id: str) -> Operation[Schedule | None]:  # noqa: A002 - as above
    """The schedule of this id, or None."""
    core = client.core
    _, stored = yield from read_stored(core, text("id", id, core.limits.name))
    return None if stored is None else read_schedule(core.codec, id, stored)


def schedules(
    client: ClientLike, queue: str | None = None, *, offset: int = 0, count: int = 100
) -> Operation[list[Schedule]]:
    """A page of the schedules of a queue, or of all, by when their next turns come."""
    core = client.core
    offset, count = page(offset, count)
    name = "" if queue is None else text("queue", queue, core.limits.name)
    _, ids = yield from ids_of_page(core, "schedules", name, offset, count, newest_first=False)
    rows: list[Row] = [(schedule_id,) for schedule_id in ids]
    found = yield from in_batches(core, rows, _read_call)
    return [
        read_schedule(core.codec, schedule_id, stored)
        for schedule_id, (_, stored) in zip(ids, found, strict=True)
        if stored is not None
    ]


def _read_call(rows: Sequence[Row]) -> Call[list[tuple[int, Fields | None]]]:
    def decode(reply: list[Any]) -> list[tuple[int, Fields | None]]:
        now, *every = reply
        return [(now, _fields(pairs) or None) for pairs in every]

    return build("get_schedules", decode, rows)


def read_stored(core: Core, schedule_id: str) -> Operation[tuple[int, Fields | None]]:
    """What the time is, and what is stored of a schedule, if there is one."""
    call = _read_call([(schedule_id,)])
    return (yield from ask_one(core, core.shard_of(schedule_id), call))[0]


def _write(
    core: Core,
    schedule_id: str,
    queue: str,
    fields: Fields,
    seen: bytes | None,
    delay: int,
    once: tuple[str, str] | None = None,
) -> Operation[Fields | None]:
    """Stores a schedule, or once that of an import and a badge; None if it is no longer as it
    was seen, or came before.
    """
    import_name, badge = once or (None, None)

    def decode(reply: Any) -> Fields | None:
        return None if is_refusal(reply) else _fields(reply[1])

    call = build(
        "schedule",
        decode,
        list(fields.items()),
        id=schedule_id,
        queue=queue,
        nonce=new_nonce(),
        seen=optional(seen),
        delay=delay,
        import_name=optional(import_name),
        import_id=optional(badge),
    )
    return (yield from ask_one(core, core.shard_of(schedule_id), call))


def _fields(pairs: list[bytes]) -> Fields:
    return {name.decode(): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}


def _checked(core: Core, schedule_id: str, options: ScheduleOptions) -> dict[str, Any]:
    if unknown := options.keys() - SCHEDULE_OPTIONS:
        raise InvalidArgument(
            f"a schedule has no option {min(unknown)!r}; the options are "
            f"{', '.join(sorted(SCHEDULE_OPTIONS))}"
        )
    if options.get("unique") is True:
        options = {**options, "unique": schedule_id}
    return check_options(options, core.limits)


def _check_id(core: Core, schedule_id: str, options: dict[str, Any]) -> None:
    text("id", schedule_id, core.limits.name - NUMBER_BYTES)
    settled_id(core, schedule_id, options)


def _prefix(core: Core, schedule_id: str) -> bytes:
    """What the ids of its jobs begin with, so that they live on the same shard."""
    found = schedule_id if core.shards == 1 else id_prefix_on_shard(schedule_id)
    if found is None:
        raise InvalidArgument(
            f"id {schedule_id!r} has a brace alone: with several shards braces are for a shared "
            "part, as in '{order-7}a'"
        )
    return found.encode()
