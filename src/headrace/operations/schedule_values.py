"""A schedule as clients are given it, and as the server stores it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from headrace.codecs.codec import Codec
from headrace.engine.call import pack
from headrace.engine.check import Span, milliseconds, whole
from headrace.engine.cron import offsets, parse, zone_of
from headrace.engine.timestamps import moment
from headrace.errors import InvalidArgument
from headrace.options import Unset

MOST_BACKLOG = 1000

Fields = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it was when it was read; its options are those that its jobs are put with.

    Spans are seconds. A backlog of None makes up for every turn that was missed.
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
        """The user's data, decoded."""
        return self._codec.decode(self.payload)


def options_in(fields: Fields) -> dict[str, Any]:
    """The options of its jobs, as scripts read them."""
    return msgspec.msgpack.decode(fields["options"]) if fields["options"] else {}


def read_schedule(codec: Codec, schedule_id: str, fields: Fields) -> Schedule:
    """A schedule from what the server stores of it."""
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
        options={name: _as_given(name, value) for name, value in options_in(fields).items()},
        payload=fields["data"],
        _codec=codec,
    )


def _text(fields: Fields, name: str) -> str | None:
    return fields[name].decode() if name in fields else None


def _as_given(name: str, value: Any) -> Any:
    if name in ("start_within", "result_ttl"):
        return value / 1000
    return None if value is False else value


def rule_of(every: Span | None, cron: str | None, zone: str) -> Fields:
    """When its turns come."""
    if (every is None) == (cron is None):
        raise InvalidArgument("give either every= or cron=, one of them")
    if cron is not None:
        rule = parse(cron)
        zone_of(zone)
        words = " ".join(cron.split())
        return {"cron": words.encode(), "zone": zone.encode(), "rule": rule.packed()}
    if zone != "UTC":
        raise InvalidArgument("zone goes with cron=; an interval is the same in every zone")
    span = milliseconds("every", every)
    if span == 0:
        raise InvalidArgument("every must be at least a millisecond")
    return {"every": str(span).encode()}


def changed_rule(
    stored: Fields, every: Span | Unset, cron: str | Unset, zone: str | Unset
) -> Fields:
    """When its turns come, where something is said of that; the rest as it was."""
    if isinstance(every, Unset) and isinstance(cron, Unset):
        by_interval = "every" in stored
        return rule_of(
            int(stored["every"]) / 1000 if by_interval else None,
            _text(stored, "cron"),
            _zone(stored, zone),
        )
    return rule_of(
        None if isinstance(every, Unset) else every,
        None if isinstance(cron, Unset) else cron,
        _zone(stored if isinstance(every, Unset) else {}, zone),
    )


def check_change(every: Span | Unset, cron: str | Unset, zone: str | Unset) -> None:
    """Raises what can be said against a change without knowing the schedule."""
    if not (isinstance(every, Unset) and isinstance(cron, Unset)):
        changed_rule({}, every, cron, zone)
    elif not isinstance(zone, Unset):
        zone_of(zone)


def _zone(stored: Fields, zone: str | Unset) -> str:
    return (_text(stored, "zone") or "UTC") if isinstance(zone, Unset) else zone


def located(rule: Fields, now: int, stored: Fields | None) -> Fields:
    """A rule with the offsets of its zone, from the last turn on, if that is before now."""
    if "zone" not in rule:
        return rule
    start = min(now, int(stored["after"])) if stored else now
    return {**rule, "offsets": pack(offsets(zone_of(rule["zone"].decode()), start))}


def backlog_of(value: object) -> bytes:
    """How many turns are made up for beyond the newest, as scripts read it."""
    return b"none" if value is None else str(whole("backlog", value, 0, MOST_BACKLOG)).encode()
