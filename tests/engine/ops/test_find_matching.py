"""matching: which jobs of a queue have the same data, looked up by value."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.engine.check import Limits
from headrace.testing import open_with_clock
from tests.dump import dump
from tests.engine.shortcuts import pop_one
from tests.proof import proves

LARGE = "x" * 5000


@proves("W-22", "WD-13")
@pytest.mark.parametrize("data", ["call ada", LARGE, "", None, {"to": "ada"}])
def test_jobs_are_found_by_their_data_whatever_is_to_become_of_them(
    hr: Client, queue: Queue, data: object
) -> None:
    for name in ("complete", "failed", "running"):
        queue.put(data, id=name)
    complete, failed, _ = queue.pop("w", count=3)
    complete.complete()
    failed.fail("io")
    queue.put(data, id="waiting", priority=5)
    queue.put(data, id="scheduled", delay=60)
    queue.put([data], id="other")
    hr.queue("other").put(data)
    before = dump(hr)

    found = hr.matching("mail", data)

    assert found == {"running": "running", "waiting": "waiting", "scheduled": "scheduled"}
    assert dump(hr) == before


def test_data_of_the_same_length_are_not_the_same(hr: Client, queue: Queue) -> None:
    queue.put_many(["one", "two", LARGE, "y" * 5000, LARGE[:-1] + "y"])

    assert (len(hr.matching("mail", "two")), len(hr.matching("mail", "y" * 5000))) == (1, 1)


def test_data_that_end_alike_are_not_the_same(url: str) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        hr.queue("mail").put_many([b"abc", b"bc", b"c", b"", b"\xa1c", b"\xc2", b"\xa0"])

        for data in (b"abc", b"bc", b"c", b"", b"\xa1c", b"\xc2", b"\xa0"):
            [found] = hr.jobs([*hr.matching("mail", data)])
            assert found.payload == data


def test_equal_are_the_bytes_that_the_codec_makes(hr: Client, queue: Queue) -> None:
    queue.put({"a": 1, "b": 2}, id="x")

    assert hr.matching("mail", {"a": 1, "b": 2}) == {"x": "waiting"}
    assert hr.matching("mail", {"b": 2, "a": 1}) == {}


@pytest.mark.parametrize("changed", ["small", LARGE])
def test_what_a_worker_has_made_of_the_data_counts(hr: Client, queue: Queue, changed: str) -> None:
    queue.put("first", id="x")
    pop_one(queue).heartbeat(data=changed)

    assert hr.matching("mail", "first") == {}
    assert hr.matching("mail", changed) == {"x": "running"}


def test_a_queue_that_nobody_has_used_has_no_such_jobs(hr: Client) -> None:
    before = dump(hr)

    assert hr.matching("nothing", 1) == {}
    assert dump(hr) == before


def test_a_long_queue_is_gone_through_to_its_end(hr: Client, queue: Queue) -> None:
    names = queue.put_many(["even", "odd"] * 1250)

    assert list(hr.matching("mail", "even")) == names[::2]


def test_a_job_that_has_lost_its_record_stops_nothing(hr: Client, queue: Queue) -> None:
    lost, there = queue.put_many([1, 1])
    hr.core.wire.send([(0, ("DEL", hr.core.key(0, f"job:{lost}")))])

    assert hr.matching("mail", 1) == {there: "waiting"}


@pytest.mark.parametrize(
    ("queue", "data"),
    [("", 1), ("a\0b", 1), (None, 1), ("mail", object()), ("mail", "x" * 200)],
)
def test_bad_input_is_refused(url: str, queue: str, data: object) -> None:
    hr, _ = open_with_clock(url, limits=Limits(payload=100))
    with hr, pytest.raises(InvalidArgument):
        hr.matching(queue, data)
