"""Coverage: of which days all events are known, and whether any are nowhere."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(slots=True)
class Coverage:
    """What is known of the logs. gaps: days of which events are missing, and what is known of it;
    holes: events that are nowhere, although nothing says that they are gone.
    """

    is_whole: bool = True
    gaps: dict[dt.date, str] = field(default_factory=dict)
    holes: list[str] = field(default_factory=list)

    def add_gap(self, first: dt.date, last: dt.date, about: str) -> None:
        """Events are missing that may be of any of these days."""
        self.is_whole = False
        for number in range(first.toordinal(), last.toordinal() + 1):
            self.gaps.setdefault(dt.date.fromordinal(number), about)


def coverage_of(spans: Iterable[Row]) -> Coverage:
    """From rows of the table `spans`."""
    by_shard: dict[int, list[Row]] = defaultdict(list)
    for span in spans:
        by_shard[span["shard"]].append(span)
    found = Coverage()
    for shard in sorted(by_shard):
        _cover(found, shard, sorted(by_shard[shard], key=lambda span: (span["day"], span["first"])))
    return found


def _cover(found: Coverage, shard: int, spans: list[Row]) -> None:
    before: Row | None = None
    for span in spans:
        reach = before["day"] if before else span["day"]
        if span["missing"]:
            about = f"{span['missing']:,} events of shard {shard} were dropped unread"
            found.add_gap(reach, span["day"], about)
        if before is None and span["first"] > 1:
            about = f"the history of shard {shard} begins with event {span['first']:,}"
            found.add_gap(span["day"], span["day"], about)
        before = span
    first, last = min(span["first"] for span in spans), max(span["last"] for span in spans)
    lost = last - first + 1 - sum(span["events"] + span["missing"] for span in spans)
    if lost:
        found.holes.append(_hole(shard, spans, lost))


def _hole(shard: int, spans: list[Row], lost: int) -> str:
    if lost < 0:
        return f"shard {shard}: {-lost:,} events are there more than once"
    day = next(
        (span["day"] for span in spans if span["last"] - span["first"] + 1 > _told(span)), None
    )
    where = f" of {day}" if day else ""
    return f"shard {shard}{where}: {lost:,} events are neither in the lake nor on the server"


def _told(span: Row) -> int:
    told: int = span["events"] + span["missing"]
    return told
