"""Offsets and spans of the log: what is read next, and in which parts. No I/O, no Spark.

An offset is, for each shard, the id of the last entry that was read: <milliseconds>-<number>.
Numbers count from 1 without holes, so that the length of a span is known without reading it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headrace.engine.check import shown
from headrace.engine.events import entry_number
from headrace.errors import InvalidArgument, NamespaceMismatch
from headrace.lake.manifest import START
from headrace.operations.event_log import LogEnds

EARLIEST = "earliest"
LATEST = "latest"

Offsets = dict[int, str]
Bound = str | Offsets
_ENTRY = re.compile(r"(\d{1,19})-(\d{1,19})")


def milliseconds_of(entry_id: str) -> int:
    """The time of an entry."""
    return int(entry_id.partition("-")[0])


def entry_before(entry_id: str) -> str:
    """The least id that only what comes before an entry does not exceed."""
    ms, _, number = entry_id.partition("-")
    return f"{ms}-{int(number) - 1}"


# offsets as text


def offsets_to_json(offsets: Offsets) -> dict[str, str]:
    """Offsets as Spark keeps them, in an order that is always the same: it compares their text."""
    return {str(shard): offsets[shard] for shard in sorted(offsets)}


def offsets_text(offsets: Offsets) -> str:
    """Offsets as one text, for the options startingOffsets and endingOffsets."""
    return json.dumps(offsets_to_json(offsets))


def offsets_from_json(given: Any, called: str = "an offset") -> Offsets:
    """The reverse; InvalidArgument if this is no offset."""
    if not isinstance(given, dict):
        raise _no_offsets(called, given)
    for shard, entry_id in given.items():
        if not (shard.isascii() and shard.isdigit()):
            raise _no_offsets(called, given)
        if not isinstance(entry_id, str) or not _ENTRY.fullmatch(entry_id):
            raise _no_offsets(called, given)
    return {int(shard): given[shard] for shard in sorted(given, key=int)}


def read_bound(called: str, text: str) -> Bound:
    """Reads the option startingOffsets or endingOffsets."""
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    try:
        given = json.loads(text)
    except ValueError:
        raise _no_offsets(called, text) from None
    return offsets_from_json(given, called)


def _no_offsets(called: str, given: object) -> InvalidArgument:
    return InvalidArgument(
        f'{called} must be {EARLIEST}, {LATEST} or as {{"0": "1700000000000-42", "1": "0-0"}}: for '
        f"each shard the id of an entry, <milliseconds>-<number>; not {shown(given)}"
    )


# where to begin and where to end


def beginning(bound: Bound, ends: Sequence[LogEnds]) -> Offsets:
    """Where to begin. What was trimmed before the earliest is nobody's loss."""
    if isinstance(bound, dict):
        return _of_shards(bound, ends)
    return {
        shard: entry_before(end.oldest) if bound == EARLIEST and end.oldest else end.newest
        for shard, end in enumerate(ends)
    }


def ending(bound: Bound, start: Offsets, ends: Sequence[LogEnds]) -> Offsets:
    """Where to end; of a shard that the bound does not know nothing is read."""
    if bound == EARLIEST:
        raise InvalidArgument(f"option endingOffsets cannot be {EARLIEST}")
    if isinstance(bound, dict):
        return start | _of_shards(start | bound, ends)
    return newest(ends)


def newest(ends: Sequence[LogEnds]) -> Offsets:
    """The end of the log."""
    return {shard: end.newest for shard, end in enumerate(ends)}


def _of_shards(offsets: Offsets, ends: Sequence[LogEnds]) -> Offsets:
    """An offset with an entry for every shard: new ones begin at the beginning."""
    for shard, entry_id in offsets.items():
        if shard >= len(ends):
            raise NamespaceMismatch(
                f"the offset is for a shard {shard}, but the namespace has {len(ends)}: it was "
                "read from another namespace"
            )
        if entry_number(entry_id) > entry_number(ends[shard].newest):
            raise NamespaceMismatch(
                f"the offset of shard {shard} is event {entry_number(entry_id)}, but its log ends "
                f"with event {entry_number(ends[shard].newest)}: this is not the log that was "
                "read, or the server has lost its end; begin anew, with another checkpoint"
            )
    return {shard: offsets.get(shard, START) for shard in range(len(ends))}


def to_be_found(offsets: Offsets, ends: Sequence[LogEnds]) -> dict[int, list[int]]:
    """The numbers of entries that a log must have if it is the one of these offsets.

    Raises NamespaceMismatch where it is seen without a look that it is another.
    """
    sought: dict[int, list[int]] = {}
    for shard, entry_id in offsets.items():
        number, end = entry_number(entry_id), ends[shard]
        oldest = end.oldest or end.newest
        if number and (end.oldest is None or number < entry_number(oldest)):
            if milliseconds_of(entry_id) > milliseconds_of(oldest):
                raise _another_log(shard, entry_id)
        elif number:
            sought[shard] = [number]
    return sought


def check_found(offsets: Offsets, found: Mapping[int, Sequence[str]]) -> None:
    """Raises NamespaceMismatch if what stands at these offsets is not what stood there."""
    for shard, entries in found.items():
        if list(entries) not in ([], [offsets[shard]]):
            raise _another_log(shard, offsets[shard])


def _another_log(shard: int, entry_id: str) -> NamespaceMismatch:
    return NamespaceMismatch(
        f"the offset of shard {shard} is event {entry_id}, which never was in its log: the server "
        "was emptied, or has lost events, and its log has gone on since; begin anew, with another "
        "checkpoint"
    )


# spans


@dataclass(frozen=True, slots=True)
class Span:
    """The entries of a shard after one and up to another."""

    shard: int
    after: str
    upto: str

    @property
    def first(self) -> int:
        return entry_number(self.after) + 1

    @property
    def last(self) -> int:
        return entry_number(self.upto)


def spans_between(start: Offsets, end: Offsets) -> list[Span]:
    """What was to be read between two offsets, shards with nothing to read left out."""
    spans = []
    for shard in sorted(end):
        span = Span(shard, start.get(shard, START), end[shard])
        if span.last < entry_number(span.after):
            raise InvalidArgument(
                f"of shard {shard} the span begins after event {entry_number(span.after)} and ends "
                f"with event {span.last}: it must not end before it begins"
            )
        if span.last >= span.first:
            spans.append(span)
    return spans


def missing_before(span: Span, ends: Sequence[LogEnds]) -> int:
    """How many of the first events of a span are gone."""
    oldest = ends[span.shard].oldest
    there = span.last + 1 if oldest is None else min(entry_number(oldest), span.last + 1)
    return max(0, there - span.first)


def fair_shares(spans: Sequence[Span], ends: Sequence[LogEnds], most: int) -> dict[int, int]:
    """How many events of each shard to read so that in all there are no more than so many.

    What one shard does not need of its share is for the others. Events that are gone do not count.
    """
    there = {span.shard: _there(span, ends) for span in spans}
    shares: dict[int, int] = {}
    for position, shard in enumerate(sorted(there, key=lambda shard: (there[shard], shard))):
        shares[shard] = min(there[shard], most // (len(there) - position))
        most -= shares[shard]
    return shares


def ends_of_shares(
    spans: Sequence[Span], ends: Sequence[LogEnds], most: int
) -> tuple[Offsets, dict[int, list[int]]]:
    """Where spans end that are cut to fair shares: entries, and numbers that must be sought."""
    known: Offsets = {}
    sought: dict[int, list[int]] = {}
    shares = fair_shares(spans, ends, most)
    for span in spans:
        share = shares[span.shard]
        if share == _there(span, ends):
            known[span.shard] = span.upto
        elif share:
            sought[span.shard] = [span.first + missing_before(span, ends) + share - 1]
        else:
            known[span.shard] = span.after
    return known, sought


def _there(span: Span, ends: Sequence[LogEnds]) -> int:
    return span.last - span.first + 1 - missing_before(span, ends)


def cuts(span: Span, ends: Sequence[LogEnds], per_part: int) -> list[int]:
    """Numbers at which to cut a span into parts of about equal size, none larger than per_part."""
    there = _there(span, ends)
    parts = -(-there // per_part)
    return [span.last - there + there * part // parts for part in range(1, parts)]


def parts_of(span: Span, at: Sequence[str]) -> list[Span]:
    """A span cut after the given entries."""
    bounds = [span.after, *at, span.upto]
    return [Span(span.shard, after, upto) for after, upto in pairwise(bounds)]


def later(span: Span, before: Mapping[int, str]) -> Span:
    """A span without what comes up to the given entry of its shard."""
    entry_id = before.get(span.shard, START)
    if entry_number(entry_id) <= entry_number(span.after):
        return span
    bound = min(entry_id, span.upto, key=entry_number)
    return Span(span.shard, bound, span.upto)
