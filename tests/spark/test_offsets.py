from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engine.events import entry_number
from headrace.errors import InvalidArgument, NamespaceMismatch
from headrace.lake.manifest import LogRange
from headrace.operations.event_log import ShardLog
from headrace.spark import offsets
from headrace.spark.offsets import Offsets

GOLDEN = Path(__file__).parent / "golden" / "offsets-v1.json"

# With twelve shards, the order by text differs from the order by number.
OFFSETS = {shard: f"{1_700_000_000_000 + shard}-{10 * shard}" for shard in reversed(range(12))}


def test_format_of_written_offsets_is_stable() -> None:
    assert offsets.offsets_text(OFFSETS) + "\n" == GOLDEN.read_text()


def test_written_offsets_are_read() -> None:
    assert offsets.read_bound("it", GOLDEN.read_text()) == OFFSETS
    assert offsets.offsets_from_json(json.loads(GOLDEN.read_text())) == OFFSETS


@pytest.mark.parametrize("word", ["earliest", "Latest"])
def test_bound_may_be_earliest_or_latest(word: str) -> None:
    assert offsets.read_bound("it", word) == word.lower()


@pytest.mark.parametrize(
    "text",
    [
        *("", "sometime", "{", "[]", "7", '{"a": "1-1"}', '{"-1": "1-1"}', '{"\u0661": "1-1"}'),
        *('{"0": 7}', '{"0": "1"}', '{"0": "x-1"}', '{"0": "1-1-1"}', '{"0": null}'),
        '{"0": " 1-1"}',
    ],
)
def test_invalid_offset_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="option startingOffsets must be earliest, latest or"):
        offsets.read_bound("option startingOffsets", text)


def log_with(oldest: str | None, newest: str) -> ShardLog:
    return ShardLog(0, oldest, newest, trimmed=0, dropped=0, begun_ms=0, marks={})


ENDS = [log_with("100-11", "200-20"), log_with(None, "0-0"), log_with(None, "90-7")]


def test_earliest_is_before_the_oldest_entry() -> None:
    assert offsets.beginning("earliest", ENDS) == {0: "100-10", 1: "0-0", 2: "90-7"}


def test_latest_is_the_newest_entry_ever() -> None:
    assert offsets.beginning("latest", ENDS) == {0: "200-20", 1: "0-0", 2: "90-7"}
    assert offsets.ending("latest", {0: "0-0"}, ENDS) == {0: "200-20", 1: "0-0", 2: "90-7"}


def test_shards_without_offset_start_at_first_event() -> None:
    assert offsets.beginning({0: "150-15"}, ENDS) == {0: "150-15", 1: "0-0", 2: "0-0"}
    start = {0: "150-15", 1: "0-0", 2: "80-6"}
    assert offsets.ending({0: "160-16"}, start, ENDS) == {0: "160-16", 1: "0-0", 2: "80-6"}


def test_offsets_of_another_log_are_refused() -> None:
    with pytest.raises(NamespaceMismatch, match="is for shard 3, but the namespace has 3 shards"):
        offsets.beginning({3: "1-1"}, ENDS)
    with pytest.raises(NamespaceMismatch, match="is event 21, but the log ends with event 20"):
        offsets.beginning({0: "200-21"}, ENDS)
    with pytest.raises(NamespaceMismatch, match="start again"):
        offsets.ending({2: "90-8"}, {}, ENDS)


@pytest.mark.parametrize(
    ("entry", "oldest", "sought"),
    [
        ("0-0", "900-5", {}),
        ("800-4", "900-5", {}),
        ("950-7", "900-5", {0: [7]}),
        ("800-4", None, {}),
    ],
)
def test_entry_within_the_log_is_looked_up(
    entry: str, oldest: str | None, sought: dict[int, list[int]]
) -> None:
    assert offsets.to_be_found({0: entry}, [log_with(oldest, "999-20")]) == sought


@pytest.mark.parametrize(("entry", "oldest"), [("901-4", "900-5"), ("1000-4", None)])
def test_trimmed_entry_newer_than_oldest_entry_is_refused(entry: str, oldest: str | None) -> None:
    with pytest.raises(NamespaceMismatch, match="was never in this log"):
        offsets.to_be_found({0: entry}, [log_with(oldest, "999-20")])


def test_entry_with_another_time_is_refused() -> None:
    offsets.check_found({0: "950-7", 1: "950-8"}, {0: ["950-7"], 1: []})
    with pytest.raises(NamespaceMismatch, match="another checkpoint"):
        offsets.check_found({0: "950-7"}, {0: ["951-7"]})


def test_end_at_earliest_or_before_start_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="endingOffsets cannot be earliest"):
        offsets.ending("earliest", {}, ENDS)
    with pytest.raises(InvalidArgument, match="endingOffsets must not be before startingOffsets"):
        offsets.ranges_between({0: "200-20"}, {0: "100-10"})


def test_shards_without_new_events_have_no_range() -> None:
    assert offsets.ranges_between({0: "1-1", 1: "5-5"}, {0: "1-1", 1: "9-7", 2: "3-2"}) == [
        LogRange(1, "5-5", "9-7"),
        LogRange(2, "0-0", "3-2"),
    ]


@pytest.mark.parametrize(
    ("after", "upto", "missing"),
    [
        ("0-0", "200-20", 10),
        ("90-8", "200-20", 2),
        ("99-10", "200-20", 0),
        ("150-15", "200-20", 0),
        ("0-0", "50-5", 5),
    ],
)
def test_trimmed_events_at_start_are_counted(after: str, upto: str, missing: int) -> None:
    assert offsets.missing_before(LogRange(0, after, upto), ENDS) == missing


def test_all_events_of_fully_trimmed_log_are_missing() -> None:
    assert offsets.missing_before(LogRange(2, "0-0", "90-7"), ENDS) == 7


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[LogRange], list[ShardLog]]:
    """Ranges of shards that may have trimmed events."""
    spans, ends = [], []
    for shard in range(draw(st.integers(1, 5))):
        newest = draw(st.integers(1, 300))
        oldest = draw(st.integers(1, newest + 1))
        after = draw(st.integers(0, newest - 1))
        ends.append(log_with(None if oldest > newest else f"9-{oldest}", f"9-{newest}"))
        spans.append(LogRange(shard, f"9-{after}", f"9-{newest}"))
    return spans, ends


def ends_of(log: tuple[list[LogRange], list[ShardLog]], most: int) -> Offsets:
    known, sought = offsets.ends_of_shares(*log, most)
    return known | {shard: f"9-{number}" for shard, [number] in sought.items()}


@given(logs(), st.integers(1, 400))
def test_step_is_bounded_and_makes_progress(
    log: tuple[list[LogRange], list[ShardLog]], most: int
) -> None:
    spans, ends = log
    there = {
        span.shard: span.last + 1 - span.first - offsets.missing_before(span, ends)
        for span in spans
    }
    shares = offsets.fair_shares(spans, ends, most)
    assert sum(shares.values()) == min(most, sum(there.values()))
    # The shares of shards that have more events than their share differ by at most one.
    wanting = [shares[shard] for shard in there if shares[shard] < there[shard]]
    assert all(share - 1 <= least for share in shares.values() for least in wanting)
    found = ends_of(log, most)
    assert found.keys() == {span.shard for span in spans}
    for span in spans:
        reached = entry_number(found[span.shard])
        assert entry_number(span.after) <= reached <= span.last
    assert any(entry_number(found[span.shard]) >= span.first for span in spans)


@given(logs(), st.integers(1, 100))
def test_parts_are_bounded_and_contiguous(
    log: tuple[list[LogRange], list[ShardLog]], per_part: int
) -> None:
    spans, ends = log
    for span in spans:
        numbers = offsets.split_points(span, ends, per_part)
        parts = offsets.split_at(span, [f"9-{number}" for number in numbers])
        assert parts[0].after == span.after
        assert parts[-1].to == span.to
        assert [part.to for part in parts[:-1]] == [part.after for part in parts[1:]]
        missing = offsets.missing_before(span, ends)
        sizes = [part.last - part.first + 1 for part in parts]
        sizes[0] -= missing
        assert max(sizes) <= per_part
        assert max(sizes) - min(sizes) <= 1


def test_later_removes_events_up_to_an_entry() -> None:
    span = LogRange(0, "100-10", "200-20")
    assert offsets.later(span, {}) == span
    assert offsets.later(span, {0: "50-5"}) == span
    assert offsets.later(span, {0: "150-15"}) == LogRange(0, "150-15", "200-20")
    gone = offsets.later(span, {0: "300-30"})
    assert gone.first > gone.last
