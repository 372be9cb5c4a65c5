"""put: creates a job. test_put_again.py tests puts of an id that exists."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Limits, Put, Queue
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


@proves("Q-20")
def test_put_makes_a_job_and_returns_its_id(hr: Client, queue: Queue) -> None:
    assert queue.put({"to": "ada"}, id="hello") == "hello"

    job = found(hr, "hello")
    assert (job.queue, job.data) == ("mail", {"to": "ada"})


@proves("Q-27")
def test_new_job_waits_and_has_no_holder(hr: Client, queue: Queue, clock: Clock) -> None:
    job = found(hr, queue.put("hi"))

    assert job.state == "waiting"
    assert (job.worker, job.expires, job.due) == ("", None, None)
    assert (job.attempt, job.put_at) == (0, clock.now)


@proves("Q-03")
def test_generated_id_has_16_letters_and_digits(queue: Queue) -> None:
    made = queue.put_many(range(300))

    assert len(set(made)) == 300
    assert all(re.fullmatch("[0-9a-z]{16}", job_id) for job_id in made)


@proves("Q-03")
@pytest.mark.parametrize("name", ["é{1}:\u2028 *", "a" * 250, "hr:{x:0}:job:y", "0", "none", "-1"])
def test_names_may_be_any_printable_text(hr: Client, name: str) -> None:
    queue = hr.queue(name)
    queue.put(1, id=name, tags=[name])

    lease = pop_one(queue, worker=name)

    assert (lease.id, lease.queue, lease.worker, lease.job.tags) == (name, name, name, [name])
    assert lease.complete() == "complete"
    assert found(hr, name).state == "complete"


@proves("Q-05")
def test_the_first_put_makes_the_queue(hr: Client) -> None:
    assert hr.queues() == {}

    hr.queue("new").put(1)

    assert list(hr.queues()) == ["new"]
    assert hr.queue("new").counts().waiting == 1


@proves("Q-28")
def test_a_lower_priority_runs_sooner(queue: Queue) -> None:
    for priority in (1, -1_000_000_000, None, 0.5, -0.5, 1_000_000_000):
        queue.put(1, id=f"{priority}", priority=priority)

    expected = ["-1000000000", "-0.5", "None", "0.5", "1", "1000000000"]
    assert drain(queue) == expected


@proves("Q-29", "QD-09")
@pytest.mark.parametrize("priority", [0, 10**9, -(10**9), 2**53, -(2**53), 0.1])
def test_equal_priorities_are_served_in_the_order_they_were_put(
    queue: Queue, clock: Clock, priority: float
) -> None:
    names = ["z", "a", "m", "0", "é"]
    for name in names[:3]:
        queue.put(1, id=name, priority=priority)
    clock.tick(0.001)
    queue.put_many([Put(1, id=name) for name in names[3:]], priority=priority)

    assert drain(queue) == names


@proves("QD-09")
def test_order_of_puts_does_not_depend_on_a_clock_that_was_set_back(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="first")
    clock.tick(-3600)
    queue.put(1, id="second")

    assert drain(queue) == ["first", "second"]


@proves("Q-30")
def test_tags_are_a_list_of_texts_empty_by_default(hr: Client, queue: Queue) -> None:
    queue.put(1, id="tagged", tags=["vip", "é", "vip"])
    queue.put(1, id="plain")

    assert found(hr, "tagged").tags == ["vip", "é"]
    assert found(hr, "plain").tags == []


@proves("Q-31")
def test_delayed_job_is_scheduled_exactly_until_its_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="later", delay=10)

    job = found(hr, "later")
    assert (job.state, job.due) == ("scheduled", clock.now + timedelta(seconds=10))
    clock.tick(9.999)
    assert queue.pop("w1") == []
    clock.tick(0.001)
    assert ids(queue.pop("w1")) == ["later"]


@proves("Q-31", "QD-04")
@pytest.mark.parametrize("delay", [0, 0.0, timedelta(0), None])
def test_job_without_a_delay_is_waiting_at_once(
    hr: Client, queue: Queue, delay: float | timedelta | None
) -> None:
    assert found(hr, queue.put(1, delay=delay)).state == "waiting"


@proves("QD-04")
def test_spans_are_seconds_or_timedeltas(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="seconds", delay=90)
    queue.put(1, id="timedelta", delay=timedelta(minutes=1.5))

    due = clock.now + timedelta(seconds=90)
    assert (found(hr, "seconds").due, found(hr, "timedelta").due) == (due, due)
    with pytest.raises(InvalidArgument, match="seconds or a timedelta"):
        queue.put(1, delay="90")  # type: ignore[arg-type]


AWKWARD: list[Any] = [
    [],
    {},
    {"a": []},
    {"a": {}},
    None,
    "",
    0,
    False,
    2**63 - 1,
    9007199254740993,
    0.1,
    1352075209.123456,
    "\x00\ud7ff é",
    [[[]]],
    "x" * 1025,
    "x" * 100_000,
]


@proves("Q-32", "QD-10")
@pytest.mark.parametrize("data", AWKWARD, ids=repr)
def test_data_is_returned_unchanged(hr: Client, queue: Queue, data: Any) -> None:
    queue.put(data, id="x")

    lease = pop_one(queue)
    assert (lease.data, type(lease.data)) == (data, type(data))
    lease.complete(next="second")
    again = pop_one(hr.queue("second"))
    assert again.payload == lease.payload == found(hr, "x").payload


@proves("QD-10")
def test_server_stores_bytes_that_are_not_text(url: str) -> None:
    every_byte = bytes(range(256))
    client, _ = open_with_clock(url, codec="raw")
    with client:
        for payload in (every_byte, every_byte * 8, b""):
            client.queue("raw").put(payload)
            assert pop_one(client.queue("raw")).payload == payload


@proves("Q-32")
@pytest.mark.parametrize("data", [object(), {1, 2, object()}, {(1, 2): 3}, [lambda: 0]])
def test_data_that_is_not_json_is_refused(hr: Client, queue: Queue, data: Any) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="JSON"):
        queue.put(data)

    assert dump(hr) == before


NAN, INFINITE = float("nan"), float("inf")


@proves("Q-04")
@pytest.mark.parametrize(
    "options",
    [
        {"id": ""},
        {"id": 7},
        {"id": "a\x00b"},
        {"id": "a\nb"},
        {"id": "a" * 251},
        {"id": "\ud800"},
        {"priority": "high"},
        {"priority": NAN},
        {"priority": INFINITE},
        {"priority": True},
        {"priority": 2**53 + 1},
        {"tags": "vip"},
        {"tags": 5},
        {"tags": [1]},
        {"tags": [""]},
        {"tags": [str(number) for number in range(33)]},
        {"delay": -1},
        {"delay": NAN},
        {"delay": True},
        {"delay": timedelta(seconds=-1)},
        {"delay": timedelta(days=36_501)},
        {"retries": -1},
        {"retries": 1.5},
        {"start_within": -1},
        {"result_ttl": "1d"},
        {"on_exists": "steal"},
    ],
    ids=repr,
)
def test_a_wrong_argument_is_refused_before_anything_changes(
    hr: Client, queue: Queue, options: dict[str, Any]
) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        queue.put(1, **options)

    assert dump(hr) == before


@proves("Q-04")
def test_one_invalid_job_refuses_the_whole_batch(hr: Client, queue: Queue) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        queue.put_many([1, 2, Put(3, priority=NAN)])

    assert dump(hr) == before


@proves("Q-04")
def test_a_payload_that_is_too_large_is_refused(url: str) -> None:
    client, _ = open_with_clock(url, limits=Limits(payload=10))
    with client, pytest.raises(InvalidArgument, match="may have at most 10 bytes, not 11"):
        client.queue("mail").put("123456789")


@proves("Q-04")
@pytest.mark.parametrize("name", ["", "a\tb", "q" * 251, 7, None, b"mail"])
def test_queue_name_must_be_valid(hr: Client, name: Any) -> None:
    with pytest.raises(InvalidArgument, match="queue"):
        hr.queue(name)
