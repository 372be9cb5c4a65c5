"""matching: finds the jobs of a queue that have the same data."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.engine.check import Limits
from headrace.testing import open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one

LARGE = "x" * 5000


@proves("W-22", "WD-13")
@pytest.mark.parametrize("data", ["call ada", LARGE, "", None, {"to": "ada"}])
def test_jobs_are_found_by_their_data_in_every_open_state(
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

    found = hr.queue("mail").matching(data)

    assert found == {"running": "running", "waiting": "waiting", "scheduled": "scheduled"}
    assert dump(hr) == before


def test_data_of_the_same_length_are_not_the_same(hr: Client, queue: Queue) -> None:
    queue.put_many(["one", "two", LARGE, "y" * 5000, LARGE[:-1] + "y"])

    assert (len(hr.queue("mail").matching("two")), len(hr.queue("mail").matching("y" * 5000))) == (
        1,
        1,
    )


def test_data_with_the_same_ending_do_not_match(url: str) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        hr.queue("mail").put_many([b"abc", b"bc", b"c", b"", b"\xa1c", b"\xc2", b"\xa0"])

        for data in (b"abc", b"bc", b"c", b"", b"\xa1c", b"\xc2", b"\xa0"):
            [found] = hr.jobs([*hr.queue("mail").matching(data)])
            assert found.payload == data


def test_equal_are_the_bytes_that_the_codec_makes(hr: Client, queue: Queue) -> None:
    queue.put({"a": 1, "b": 2}, id="x")

    assert hr.queue("mail").matching({"a": 1, "b": 2}) == {"x": "waiting"}
    assert hr.queue("mail").matching({"b": 2, "a": 1}) == {}


@pytest.mark.parametrize("changed", ["small", LARGE])
def test_data_changed_by_a_worker_are_matched(hr: Client, queue: Queue, changed: str) -> None:
    queue.put("first", id="x")
    pop_one(queue).heartbeat(data=changed)

    assert hr.queue("mail").matching("first") == {}
    assert hr.queue("mail").matching(changed) == {"x": "running"}


def test_unused_queue_has_no_matching_jobs(hr: Client) -> None:
    before = dump(hr)

    assert hr.queue("nothing").matching(1) == {}
    assert dump(hr) == before


def test_matching_searches_a_long_queue_to_its_end(hr: Client, queue: Queue) -> None:
    names = queue.put_many(["even", "odd"] * 1250)

    assert list(hr.queue("mail").matching("even")) == names[::2]


def test_job_without_a_record_does_not_stop_other_calls(hr: Client, queue: Queue) -> None:
    lost, there = queue.put_many([1, 1])
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, f"job:{lost}")))])

    assert hr.queue("mail").matching(1) == {there: "waiting"}


@pytest.mark.parametrize(
    ("queue", "data"),
    [("", 1), ("a\0b", 1), (None, 1), ("mail", object()), ("mail", "x" * 200)],
)
def test_bad_input_is_refused(url: str, queue: str, data: object) -> None:
    hr, _ = open_with_clock(url, limits=Limits(payload=100))
    with hr, pytest.raises(InvalidArgument):
        hr.queue(queue).matching(data)
