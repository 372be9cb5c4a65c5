from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Client
from headrace.engine.events import KINDS, Event, read_event
from headrace.lake.event_columns import COMMON, EVENTS, event_columns, gap_row
from headrace.operations.event_log import read_entries
from headrace.transport.drive import drive

Entry = tuple[bytes, list[bytes]]

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8).map(str.encode)
WHOLES = st.integers(0, 2**53).map(lambda value: str(value).encode())
MAYBE_WHOLES = st.one_of(st.just(b""), WHOLES)

VALUES = {
    b"kind": st.sampled_from([*KINDS, "of tomorrow"]).map(str.encode),
    b"id": TEXTS,
    b"queue": TEXTS,
    b"attempt": WHOLES,
    b"worker": TEXTS,
    b"priority": st.floats(allow_nan=False).map(lambda value: repr(value).encode()),
    b"wait": MAYBE_WHOLES,
    b"run": MAYBE_WHOLES,
    b"data": st.binary(max_size=8),
}
SOME = {
    **dict.fromkeys((b"delay", b"left_out", b"change"), MAYBE_WHOLES),
    **{
        name: st.binary(max_size=8)
        for name in (
            *(b"tags", b"failure", b"message", b"reason", b"next", b"from", b"was"),
            *(b"schedule", b"place", b"instance", b"origin"),
        )
    },
    b"at": st.integers(0, 4 * 10**12).map(lambda value: str(value).encode()),
    b"v": st.integers(1, 9).map(lambda value: str(value).encode()),
    b"of tomorrow": st.binary(max_size=8),
}


@st.composite
def pairs(draw: st.DrawFn) -> list[bytes]:
    fields = [(name, draw(VALUES[name])) for name in COMMON]
    names = draw(st.lists(st.sampled_from(sorted(SOME)), max_size=4, unique=True))
    fields += [(name, draw(SOME[name])) for name in names]
    if draw(st.integers(0, 9)) == 0:
        fields = draw(st.permutations(fields))
    return [word for field in fields for word in field]


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    found = draw(st.lists(pairs(), min_size=1, max_size=6))
    ms = draw(st.integers(0, 4 * 10**12))
    return [(b"%d-%d" % (ms + row, row + 1), each) for row, each in enumerate(found)]


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return list(batch.to_pylist())


def row_of(event: Event) -> dict[str, Any]:
    row = asdict(event)
    del row["entry_id"]
    return row


@given(entries())
def test_columns_equal_read_event(found: list[Entry]) -> None:
    batch = event_columns(3, found)
    assert batch.schema == EVENTS
    batch.validate(full=True)
    for row, (entry_id, words) in zip(rows_of(batch), found, strict=True):
        more = dict(row.pop("more") or [])
        assert row.pop("missing") is None
        assert row == row_of(read_event(3, entry_id, words))
        unknown = dict(zip(words[::2], words[1::2], strict=True)).get(b"of tomorrow")
        assert more == ({} if unknown is None else {"of tomorrow": unknown})


def plain(**more: bytes) -> list[bytes]:
    values = [b"put", b"ada", b"mail", b"0", b"", b"0", b"", b"", b"{}"]
    words = [word for pair in zip(COMMON, values, strict=True) for word in pair]
    return words + [word for name, value in more.items() for word in (name.encode(), value)]


def test_last_value_of_repeated_field_counts() -> None:
    [row] = rows_of(event_columns(0, [(b"5-1", plain(queue=b"other"))]))
    assert row["queue"] == "other"
    assert row["more"] is None


def test_durations_and_data_are_optional_but_queue_is_not() -> None:
    words = [b"kind", b"popped", *plain()[2:]]
    [row] = rows_of(event_columns(0, [(b"5-1", words[:12])]))
    assert (row["wait"], row["run"], row["data"]) == (None, None, None)
    with pytest.raises(KeyError, match="queue"):
        event_columns(0, [(b"5-1", words[:4] + words[6:])])


def test_columns_of_real_log_equal_client_events(hr: Client) -> None:
    mail = hr.queue("mail")
    mail.put({"n": 1}, id="ada", tags=["vip", "late"], priority=-1.5)
    mail.put({"large": "x" * 20_000}, id="grace")
    first, second = mail.pop("worker-1", count=2)
    first.complete()
    second.fail("smtp", "caf\u00e9", retry_in=5)
    hr.feed("news").publish({"headline": "hello"})
    found = drive(hr.core.transport, read_entries(hr.core, 0, "0-0", "+", 100))
    rows = rows_of(event_columns(0, found))
    assert len(rows) >= 7
    assert {row["left_out"] for row in rows} > {None}
    assert [
        {name: value for name, value in row.items() if name not in ("missing", "more")}
        for row in rows
    ] == [row_of(event) for event in hr.events()]
    assert {row["more"] for row in rows} == {None}


def test_no_entries_give_no_rows() -> None:
    assert event_columns(0, []).num_rows == 0
    assert event_columns(0, []).schema == EVENTS


def test_gap_row_has_number_and_missing_events() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    gap = gap_row(2, 11, 5, at)
    assert gap.schema == EVENTS
    gap.validate(full=True)
    [row] = rows_of(gap)
    assert {name: value for name, value in row.items() if value not in (None, "", 0)} == {
        "shard": 2,
        "number": 11,
        "at": at,
        "version": 1,
        "kind": "gap",
        "missing": 5,
    }
