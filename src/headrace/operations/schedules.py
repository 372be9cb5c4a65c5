"""Schedules: put jobs repeatedly, at an interval or by a cron expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Unpack

import msgspec

from headrace.codecs.codec import Codec
from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, new_nonce, optional, pack, packed
from headrace.engine.check import Span, milliseconds, page, text, whole
from headrace.engine.cron import offsets, parse, zone_of
from headrace.engine.shard import id_prefix_on_shard
from headrace.engine.timestamps import moment
from headrace.errors import InvalidArgument, ScheduleNotFound
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.ids import settled_id
from headrace.operations.jobs import checked_rows
from headrace.operations.paging import ids_of_page
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.putting import job_payload
from headrace.operations.requests import ask_one
from headrace.options import SCHEDULE_OPTIONS, UNSET, ScheduleOptions, Unset, check_options
from headrace.transport.drive import Operation

# The maximum number of bytes that a job id has in addition to the schedule id, for braces, a dash
# and a number.
NUMBER_BYTES = 20
# The maximum backlog. The backlog is the number of missed runs that a schedule makes up for, in
# addition to the newest missed run. None means all missed runs.
MOST_BACKLOG = 1000

Fields = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A snapshot of a schedule; `options` holds the options of the jobs that the schedule creates.

    Durations are in seconds. With a backlog of None the schedule makes up for all missed runs.
    """

    id: str
    queue: str
    every: float | None
    cron: str | None
    zone: str | None
    backlog: int | None
    next: datetime
    last: datetime | None
    made: int
    skipped: int
    counter: int
    options: dict[str, Any]
    payload: bytes
    _codec: Codec = field(repr=False, compare=False)

    @property
    def data(self) -> Any:
        """The decoded data of the jobs."""
        return self._codec.decode(self.payload)


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
    """Create a schedule that puts jobs repeatedly, or replace the schedule with this id.

    Pass either `every` or `cron`. `every` is the interval between runs; the first run is at once or
    after `delay`. `cron` is an expression in the time zone `zone`. If a schedule with this id and
    the same `every` or `cron` exists, and no delay is passed, the time of the next run stays the
    same. So a program may call this method at every start. If runs were missed, the schedule makes
    up for the newest missed run and for `backlog` more missed runs (None: all). With `unique`, a
    run is skipped while a job with the same unique value exists; True uses the id of the schedule
    as the value. ScheduleOptions lists the other options.

    Raises InvalidArgument if the rule, the id or an option is invalid.

        queue.schedule("report", {"kind": "daily"}, cron="0 6 * * *", zone="Europe/Berlin")
    """
    core = queue.core
    given = _checked(core, id, options)
    _check_id(core, id, given)
    rule = rule_of(every, cron, zone)
    now, stored = (yield from read_stored(core, id)) if cron is not None else (0, None)
    fields = _new_fields(core, id, job_payload(core, data, "", queue.name), given, backlog)
    fields |= with_offsets(rule, now, stored)
    delay_ms = -1 if delay is None else milliseconds("delay", delay)
    written = yield from _write(core, id, queue.name, fields, None, delay_ms)
    return read_schedule(core.codec, id, written or {})


def adopt_schedule(
    queue: QueueLike,
    name: str,
    import_id: str,
    id: str,  # noqa: A002 - as above
    data: bytes,
    *,
    every: Span,
    due: int,
    backlog: int | None,
    **options: Any,
) -> Operation[bool]:
    """Create an imported schedule, once per import, unless a schedule with this id exists.

    `name` and `import_id` identify the import. `due` is the time of the next run in milliseconds
    since 1970. Return whether this call created the schedule.
    """
    core = queue.core
    given = check_options(options, core.limits)
    _check_id(core, id, given)
    now, _ = yield from read_stored(core, id)
    fields = _new_fields(core, id, data, given, backlog) | rule_of(every, None, "UTC")
    once = (name, import_id)
    written = yield from _write(core, id, queue.name, fields, None, max(0, due - now), once)
    return written is not None


def _new_fields(
    core: Core, schedule_id: str, data: bytes, options: dict[str, Any], backlog: int | None
) -> Fields:
    return {
        "data": data,
        "options": packed(options),
        "prefix": _prefix(core, schedule_id),
        "backlog": backlog_of(backlog),
    }


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
    """Change the properties that are passed, and return the changed schedule.

    With a new interval, the next run is one interval after the previous run. The value None removes
    an option, and unique=False removes `unique`. The exception is retries=None, which means retries
    without a limit.

    Raises ScheduleNotFound if there is no schedule with this id, and InvalidArgument if the rule or
    an option is invalid.

        client.schedules.update("report", cron="0 7 * * *", priority=5)
    """
    core = client.core
    given = _checked(core, id, options)
    _check_id(core, id, given)
    asked = {"every": every, "cron": cron, "zone": zone}
    change = {name: value for name, value in asked.items() if value is not UNSET}
    _check_change(change)
    new: Fields = {}
    if backlog is not UNSET:
        new["backlog"] = backlog_of(backlog)
    while True:
        now, stored = yield from read_stored(core, id)
        if stored is None:
            raise ScheduleNotFound(id)
        if data is not UNSET:
            new["data"] = job_payload(core, data, "", stored["queue"].decode())
        rule = _changed_rule(stored, change)
        kept = {name: stored[name] for name in ("data", "backlog", "prefix")}
        unchanged = {
            name: value for name, value in options_in(stored).items() if name not in options
        }
        fields = {
            **kept,
            **new,
            "options": packed({**unchanged, **given}),
            **with_offsets(rule, now, stored),
        }
        written = yield from _write(core, id, stored["queue"].decode(), fields, stored["by"], -1)
        if written is not None:
            return read_schedule(core.codec, id, written)


def unschedule(client: ClientLike, *ids: str) -> Operation[list[str]]:
    """Delete schedules and return the ids of the schedules that existed.

    Jobs that a schedule has already put are not deleted.

    Raises InvalidArgument if an id is malformed.

        client.schedules.delete("report")
    """
    rows = checked_rows(client.core, ids)

    def make(part: Sequence[Row]) -> Call[list[int]]:
        return build("unschedule", list, part)

    answers = yield from in_batches(client.core, rows, make)
    return [one for one, answer in zip(ids, answers, strict=True) if answer]


def schedule(client: ClientLike, id: str) -> Operation[Schedule | None]:  # noqa: A002 - as above
    """Return the schedule with this id, or None.

    Raises InvalidArgument if the id is malformed.

        schedule = client.schedules.get("report")
        print(schedule.next, schedule.cron)
    """
    core = client.core
    _, stored = yield from read_stored(core, text("id", id, core.limits.name))
    return None if stored is None else read_schedule(core.codec, id, stored)


def schedules(
    client: ClientLike, queue: str | None = None, *, offset: int = 0, count: int = 100
) -> Operation[list[Schedule]]:
    """Return a page of the schedules of one queue or all queues, sorted by the next run time.

    `offset` and `count` select the page.

    Raises InvalidArgument if the name of the queue is malformed, or `offset` or `count` is out of
    range.

        for schedule in client.schedules.list("mail"):
            print(schedule.id, schedule.next)
    """
    core = client.core
    offset, count = page(offset, count)
    name = "" if queue is None else text("queue", queue, core.limits.name)
    _, ids = yield from ids_of_page(core, keys.schedules, name, offset, count, newest_first=False)
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
    """Return the server's time in milliseconds, and the fields of a schedule (None if unknown)."""
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
    """Store a schedule and return its fields.

    Return None if another client has changed the schedule since version `seen`. For an imported
    schedule, `once` is the name and the id of the import. Return None if this import was stored
    before, or if a schedule with the id of the imported schedule exists.
    """
    import_name, import_id = once or (None, None)

    def decode(reply: Any) -> Fields | None:
        return None if is_refusal(reply) else _fields(reply[1])

    call = build(
        "schedule",
        decode,
        list(fields.items()),
        id=schedule_id,
        queue=queue,
        version=new_nonce(),
        seen=optional(seen),
        delay=delay,
        import_name=optional(import_name),
        import_id=optional(import_id),
    )
    return (yield from ask_one(core, core.shard_of(schedule_id), call))


def _fields(pairs: list[bytes]) -> Fields:
    return {name.decode(): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}


def _checked(core: Core, schedule_id: str, options: ScheduleOptions) -> dict[str, Any]:
    if options.get("unique") is True:
        options = {**options, "unique": schedule_id}
    return check_options(options, core.limits, known=SCHEDULE_OPTIONS)


def _check_id(core: Core, schedule_id: str, options: dict[str, Any]) -> None:
    text("id", schedule_id, core.limits.name - NUMBER_BYTES)
    settled_id(core, schedule_id, options)


def _prefix(core: Core, schedule_id: str) -> bytes:
    """Return a prefix for job ids; with this prefix, jobs are on the same shard as the schedule."""
    found = schedule_id if core.shards == 1 else id_prefix_on_shard(schedule_id)
    if found is None:
        raise InvalidArgument(
            f"id {schedule_id!r} has an unpaired brace; with several shards braces must enclose a "
            "common part, as in '{order-7}a'"
        )
    return found.encode()


# The fields of a schedule on the server.


def options_in(fields: Fields) -> dict[str, Any]:
    """Return the options of a schedule's jobs, in the form that the scripts expect."""
    return msgspec.msgpack.decode(fields["options"]) if fields["options"] else {}


def read_schedule(codec: Codec, schedule_id: str, fields: Fields) -> Schedule:
    """Read a schedule from the fields that the server stores."""
    return Schedule(
        id=schedule_id,
        queue=fields["queue"].decode(),
        every=int(fields["every"]) / 1000 if "every" in fields else None,
        cron=_text(fields, "cron"),
        zone=_text(fields, "zone"),
        backlog=None if fields["backlog"] == b"none" else int(fields["backlog"]),
        next=moment(int(fields["next"])),
        last=moment(int(fields["last"])) if fields["last"] else None,
        made=int(fields["made"]),
        skipped=int(fields["skipped"]),
        counter=int(fields["counter"]),
        options={name: _option_value(name, value) for name, value in options_in(fields).items()},
        payload=fields["data"],
        _codec=codec,
    )


def _text(fields: Fields, name: str) -> str | None:
    return fields[name].decode() if name in fields else None


def _option_value(name: str, value: Any) -> Any:
    if name in ("start_within", "result_ttl"):
        return value / 1000
    return None if value is False else value


def rule_of(every: Span | None, cron: str | None, zone: str) -> Fields:
    """Return the fields that define when a schedule runs.

    Raises InvalidArgument unless exactly one of `every` and `cron` is passed and well-formed.
    """
    if (every is None) == (cron is None):
        raise InvalidArgument("pass either every= or cron=")
    if cron is not None:
        rule = parse(cron)
        zone_of(zone)
        words = " ".join(cron.split())
        return {"cron": words.encode(), "zone": zone.encode(), "rule": rule.packed()}
    if zone != "UTC":
        raise InvalidArgument("zone= needs cron=: an interval is the same in every time zone")
    interval = milliseconds("every", every)
    if interval == 0:
        raise InvalidArgument("every must be at least a millisecond")
    return {"every": str(interval).encode()}


def _changed_rule(stored: Fields, change: dict[str, Any]) -> Fields:
    """Return the rule of a stored schedule with new values of `every`, `cron` or `zone`."""
    rule: dict[str, Any] = {
        "every": int(stored["every"]) / 1000 if "every" in stored else None,
        "cron": _text(stored, "cron"),
        "zone": _text(stored, "zone") or "UTC",
    }
    if change.keys() & {"every", "cron"}:
        rule |= {"every": None, "cron": None}
    if "every" in change:
        rule["zone"] = "UTC"
    return rule_of(**{**rule, **change})


def _check_change(change: dict[str, Any]) -> None:
    """Raise InvalidArgument for a change that is invalid for every schedule."""
    if change.keys() & {"every", "cron"}:
        _changed_rule({}, change)
    elif "zone" in change:
        zone_of(change["zone"])


def with_offsets(rule: Fields, now: int, stored: Fields | None) -> Fields:
    """Add the time zone's UTC offsets to a rule, starting at the last run or the current time."""
    if "zone" not in rule:
        return rule
    start = min(now, int(stored["after"])) if stored else now
    return {**rule, "offsets": pack(offsets(zone_of(rule["zone"].decode()), start))}


def backlog_of(value: object) -> bytes:
    """Return a backlog in the form that the scripts expect."""
    return b"none" if value is None else str(whole("backlog", value, 0, MOST_BACKLOG)).encode()
