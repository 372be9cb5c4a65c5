"""Statistics of qless: hashes by queue and day, with a histogram in its own bins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from math import isfinite

from headrace.compat.importing.found import FoundDay, Notes, Place, queue_name, whole_number
from headrace.compat.importing.source import Source
from headrace.engine.check import EPOCH
from headrace.engine.statistics import Series, bin_name

SERIES, COUNTS = ("wait", "run"), "stats"
NOTHING = Series(0, 0.0, 0.0, {})
# The document has one key for a day and does not say of which series; a day is one of completions.
UNSAID = "run"
_BIN = re.compile(r"(s|m|5m|15m|h|d)([0-9]{1,6})")
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d):(.+)", re.DOTALL)
_SECONDS = re.compile(rb"(wait|run|stats):(\d{1,11}):(.+)", re.DOTALL)

Days = dict[tuple[str, int], dict[str, bytes]]


def day_keys(source: Source, prefix: bytes, known: set[str], notes: Notes) -> Days:
    """The keys of each queue and day, by series."""
    found: Days = {}
    begins = prefix + b":s:"
    for key in source.keys(begins=begins):
        told = _told(key.removeprefix(begins))
        if told is None:
            notes.add("the name of this key says no day", key, key)
            continue
        series, day, given = told
        name = given.decode(errors="replace")
        if name not in known and name.rpartition(":")[0] in known:
            notes.add("statistics by tag are kept by the lake, not by the server", key, key)
            continue
        found.setdefault((queue_name(given), day), {})[series] = key
    return found


def _told(rest: bytes) -> tuple[str, int, bytes] | None:
    """Of which series, day and queue a key is."""
    later = _SECONDS.fullmatch(rest)
    if later:
        return later[1].decode(), int(later[2]) // 86_400, later[3]
    drawn = _DATE.fullmatch(rest)
    try:
        day = (date.fromisoformat(drawn[1].decode()) - EPOCH).days if drawn else -1
    except ValueError:
        return None
    return (UNSAID, day, drawn[2]) if drawn and day >= 0 else None


def days(place: Place, found: Days, notes: Notes) -> Iterator[FoundDay]:
    """What was counted on each day of each queue."""
    for (queue, day), keys in sorted(found.items()):
        if not place.wants(queue):
            continue
        told = {name: place.source.fields(key) for name, key in keys.items()}
        series = {name: _series(told.get(name, {}), notes, keys.get(name)) for name in SERIES}
        counts = told.get(COUNTS, {})
        yield FoundDay(
            queue,
            day,
            series["wait"],
            series["run"],
            failures=_whole(counts.get(b"failures")),
            retries=_whole(counts.get(b"retries")),
        )


def _series(fields: Mapping[bytes, bytes], notes: Notes, key: bytes | None) -> Series:
    if not fields or key is None:
        return NOTHING
    try:
        count = int(float(fields[b"total"]))
        mean, vk = float(fields[b"mean"]), float(fields.get(b"vk", b"0"))
        is_finite = isfinite(mean) and isfinite(vk)
    except (KeyError, ValueError, OverflowError):
        is_finite = False
    if not is_finite:
        notes.add("these figures are not numbers", key, key)
        return NOTHING
    if count <= 0:
        return NOTHING
    bins: dict[str, int] = {}
    for name, times in fields.items():
        place = bin_of(name.decode(errors="replace"))
        if place is not None:
            bins[place] = bins.get(place, 0) + _whole(times)
    # What took a week or more was counted there in no bin.
    missing = count - sum(bins.values())
    if missing > 0:
        bins["d7"] = bins.get("d7", 0) + missing
    variance = max(0.0, vk) / (count - 1) if count > 1 else 0.0
    return Series(count, mean, variance, {name: times for name, times in bins.items() if times})


def bin_of(name: str) -> str | None:
    """The bin here of a bin there; one that is wider there is the first of those it covers."""
    found = _BIN.fullmatch(name)
    if found is None:
        return None
    unit, at = found[1], int(found[2])
    seconds = at * {"s": 1, "m": 60, "5m": 900, "15m": 900, "h": 3600, "d": 86_400}[unit]
    return bin_name(seconds)


def _whole(said: bytes | None) -> int:
    return max(0, whole_number(said) or 0)
