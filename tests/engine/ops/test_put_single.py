"""put of one job: creates the job, on the short path if possible."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace import Client, Queue
from headrace.engine.call import Call
from headrace.engine.script import source
from headrace.operations.putting import put_call
from headrace.operations.requests import unchanged
from headrace.testing import Clock
from tests.model.harness import GENERAL_PATH, library
from tests.model.harness import opened as swapped_client
from tests.model.jobs.checks.single_put import (
    CASES,
    asked,
    changes_nothing_if_the_job_exists,
    due,
    equals_the_general_path,
    one,
    put_one,
    single_puts_equal_a_bulk_put,
    takes_up_an_offer,
)
from tests.support.channels import commands, listening
from tests.support.dump import dump
from tests.support.jobs import drain, found

# A larger payload has a key of its own.
INLINE = 1024


def repeated(hr: Client, job_id: str) -> Any:
    call = one("mail", job_id, b"1")
    return hr.core.transport.send([(0, hr.core.words(0, call, again=True))])


@pytest.fixture
def made(queue: Queue) -> Queue:
    """Return an existing queue in a namespace that has events."""
    queue.put("first", id="first")
    return queue


def test_put_of_one_job_creates_the_job(hr: Client, made: Queue, url: str, clock: Clock) -> None:
    with listening(hr, url, "queue:mail") as others:
        assert put_one(hr, "second", b'"hi"') == 1
        assert others.messages() == ["work 1"]

    job = found(hr, "second")
    assert (job.state, job.data, job.put_at, job.retries) == ("waiting", "hi", clock.now, 5)
    assert [event.kind for event in hr.events() if event.job_id == "second"] == ["put"]
    assert hr.audit().balanced
    assert drain(made) == ["first", "second"]


def test_single_puts_equal_a_bulk_put(valkey_url: str) -> None:
    single_puts_equal_a_bulk_put(valkey_url, {})


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=1500),
    before=st.integers(1, 3),
    own=st.fixed_dictionaries(
        {},
        optional={
            "retries": st.sampled_from([None, 0, 7]),
            "history": st.sampled_from([0, 2]),
            "event_data": st.sampled_from([0, 3, 16_384]),
        },
    ),
    profile=st.sampled_from(["job", "task", "manual", "ring", "fifo"]),
)
def test_single_and_bulk_puts_do_what_the_general_path_does(
    valkey_url: str, data: bytes, before: int, own: dict[str, Any], profile: str
) -> None:
    singles = [one("mail", "new", data), one("mail", "newer", data)]
    at_once = [put_call("mail", [("new", data), ("newer", data)], {})]
    dumps = []
    for swaps, calls in (({}, singles), ({}, at_once), (GENERAL_PATH, singles)):
        hr = headrace.connect(
            valkey_url, namespace="test-single-put", library=library(tuple(swaps.items()))
        )
        with hr:
            hr.core.transport.send([(0, ("FLUSHALL",))])
            clock = Clock(hr)
            clock.set(clock.now)
            hr.queue("mail").configure(profile, **own)
            earlier = [(f"before {n}", b"1") for n in range(before)]
            asked(hr, put_call("mail", earlier, {}))
            clock.tick(1)
            for call in calls:
                asked(hr, call)
            dumps.append(dump(hr))
    assert dumps[0] == dumps[1] == dumps[2]


@pytest.mark.parametrize("case", CASES)
def test_put_of_one_job_equals_the_general_path_if(
    hr: Client, made: Queue, clock: Clock, url: str, case: str
) -> None:
    equals_the_general_path(url, {}, case)

    CASES[case](hr, made, clock)
    job_id = made.put("new")
    assert found(hr, job_id).data == "new"
    assert hr.audit().balanced


@pytest.mark.usefixtures("made")
def test_put_of_one_job_hands_the_job_to_a_worker_with_an_offer(hr: Client, clock: Clock) -> None:
    takes_up_an_offer(hr, clock)
    assert (found(hr, "new").state, found(hr, "new").worker) == ("running", "w")
    assert hr.audit().balanced


def test_put_of_one_job_equals_the_general_path_in_a_new_namespace(url: str) -> None:
    dumps = []
    for swaps in ({}, GENERAL_PATH):
        hr, _ = swapped_client(url, swaps)
        with hr:
            assert put_one(hr) == 1
            prefix = hr.core.key(0, "")
            dumps.append({name.removeprefix(prefix): value for name, value in dump(hr).items()})
    assert "job:new" in dumps[0]
    assert dumps[0] == dumps[1]


def test_a_large_payload_is_not_sent_twice(hr: Client, made: Queue, url: str) -> None:
    assert f"local INLINE = {INLINE}\n" in source("lib/job_packing").text
    made.put("x" * (INLINE - 2))
    with commands(url) as sent:
        job_id = made.put("x" * (INLINE - 1))
    assert len(sent) == 1
    assert found(hr, job_id).data == "x" * (INLINE - 1)
    assert put_one(hr, data=b'"' + b"x" * INLINE + b'"') == 1
    assert found(hr, "new").data == "x" * INLINE


@pytest.mark.parametrize("over", [False, True])
def test_repeated_it_makes_nothing_a_second_time(
    hr: Client, made: Queue, clock: Clock, *, over: bool
) -> None:
    assert put_one(hr) == 1
    if over:
        hr.cancel("first")
        [lease] = made.pop("w")
        lease.complete()
    for is_due in (False, True):
        if is_due:
            due(hr, made, clock)
        before = dump(hr)
        assert repeated(hr, "new") == [[0]]
        assert dump(hr) == before


@pytest.mark.usefixtures("made")
def test_put_of_one_job_changes_nothing_if_the_job_exists(hr: Client, clock: Clock) -> None:
    changes_nothing_if_the_job_exists(hr, clock)


@pytest.mark.parametrize("late", ["the first call", "the repetition"])
@pytest.mark.parametrize("jobs", [["one"], ["one", "other"]], ids=["one job", "two jobs"])
def test_repeated_put_does_not_take_jobs_from_their_holder(
    hr: Client,
    made: Queue,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    late: str,
    jobs: list[str],
) -> None:
    """The client abandons its first call, but both calls arrive while housekeeping is due."""
    due(hr, made, clock)
    send = hr.core.transport.send
    calls: list[Any] = []

    def lose_the_first(wanted: Any) -> Any:
        [(_, words)] = wanted
        if words[1] != hr.core.library.operations["put"].function:
            return send(wanted)
        calls.append(wanted)
        if len(calls) == 1:
            return [redis.ConnectionError("lost")]
        monkeypatch.undo()
        first, second = calls if late == "the repetition" else reversed(calls)
        on_short_path = late == "the repetition" or len(jobs) == 1
        assert send(first) == [len(jobs) if on_short_path else [1] * len(jobs)]
        assert len(made.pop("w", count=9)) == 1 + len(jobs)
        before = dump(hr)
        answer = send(second)
        assert dump(hr) == before
        return answer

    monkeypatch.setattr(hr.core.transport, "send", lose_the_first)
    ids = made.put_many(jobs) if len(jobs) > 1 else [made.put(jobs[0])]

    repeated = hr.core.words(0, Call("put", (), unchanged), again=True)[4]
    assert [words[4] for [(_, words)] in calls] == [b"0", repeated]
    assert {found(hr, job_id).state for job_id in ids} == {"running"}


def test_client_puts_with_one_call_on_every_path(hr: Client, made: Queue, url: str) -> None:
    calls = []
    for fair in (False, True, False):
        made.configure(fair=fair)
        with commands(url) as sent:
            made.put(1)
        calls += [command.split()[:2] for command in sent]
    assert calls == [["FCALL", hr.core.library.operations["put"].name]] * 3
