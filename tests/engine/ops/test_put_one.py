"""put_one: makes a plain job in the fewest steps, or does nothing and the client calls put."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Client, Queue
from headrace.engine.script import source
from headrace.operations.putting import DETOUR, INLINE, put_call
from headrace.testing import Clock, open_with_clock
from tests.model.jobs.checks.put_one import (
    NOT_NOW,
    asked,
    changes_nothing,
    due,
    one,
    put_one,
    single_puts_equal_a_bulk_put,
)
from tests.support.channels import commands, listening
from tests.support.dump import dump
from tests.support.jobs import drain, found


def repeated(hr: Client, job_id: str) -> Any:
    call = one("mail", job_id, b"1")
    return hr.core.transport.send([(0, hr.core.words(0, call, again=True))])


@pytest.fixture
def made(queue: Queue) -> Queue:
    """Return an existing queue in a namespace that has events."""
    queue.put("first", id="first")
    return queue


def test_it_makes_a_job(hr: Client, made: Queue, url: str, clock: Clock) -> None:
    with listening(hr, url, "queue:mail") as others:
        assert put_one(hr, "second", b'"hi"') == 1
        assert others.messages() == ["work 1"]

    job = found(hr, "second")
    assert (job.state, job.data, job.put_at, job.retries) == ("waiting", "hi", clock.now, 5)
    assert [event.kind for event in hr.events() if event.job_id == "second"] == ["put"]
    assert hr.audit().balanced
    assert drain(made) == ["first", "second"]


def test_one_after_the_other_is_as_many_at_once(valkey_url: str) -> None:
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
def test_put_one_does_what_put_does(
    valkey_url: str, data: bytes, before: int, own: dict[str, Any], profile: str
) -> None:
    dumps, answers = [], []
    for call in (one("mail", "new", data), put_call("mail", [("new", data)], b"", None, "")):
        hr, clock = open_with_clock(valkey_url, namespace="test-put-one")
        with hr:
            hr.core.transport.send([(0, ("FLUSHALL",))])
            clock.set(clock.now)
            hr.queue("mail").configure(profile, **own)
            earlier = [(f"before {n}", b"1") for n in range(before)]
            asked(hr, put_call("mail", earlier, b"", None, ""))
            clock.tick(1)
            answers.append(asked(hr, call))
            dumps.append(dump(hr))
    fits = len(data) <= INLINE
    assert answers[0] == (1 if fits else -1)
    if fits:
        assert dumps[0] == dumps[1]


@pytest.mark.parametrize("case", NOT_NOW)
def test_it_changes_nothing_if(hr: Client, made: Queue, clock: Clock, case: str) -> None:
    changes_nothing(hr, clock, case)
    job_id = made.put("new")
    assert found(hr, job_id).data == "new"
    assert hr.audit().balanced


def test_it_changes_nothing_in_a_new_namespace(hr: Client) -> None:
    before = dump(hr)
    assert put_one(hr) == 0
    assert dump(hr) == before


def test_a_large_payload_is_not_sent_twice(hr: Client, made: Queue, url: str) -> None:
    assert f"local INLINE = {INLINE}\n" in source("lib/job_packing").text
    made.put("x" * (INLINE - 2))
    with commands(url) as sent:
        made.put("x" * (INLINE - 1))
    assert len(sent) == 1
    assert put_one(hr, data=b"x" * (INLINE + 1)) == -1


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
        assert repeated(hr, "new") == [1]
        assert dump(hr) == before


def test_repeated_put_one_does_not_take_the_job_from_its_holder(
    hr: Client, made: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client abandoned its put_one, and housekeeping was due; put_one arrives before put."""
    due(hr, made, clock)
    send, late = hr.core.transport.send, hr.core.library["put"].sha.encode()

    def arrives_first(wanted: Any) -> Any:
        [(_, words)] = wanted
        if words[1] == late:
            monkeypatch.undo()
            hr.sweep()
            assert put_one(hr, *words[-2:]) == 1
            assert len(made.pop("w", count=9)) == 2
        return send(wanted)

    monkeypatch.setattr(hr.core.transport, "send", arrives_first)
    job_id = made.put("late")

    assert found(hr, job_id).state == "running"


def test_client_keeps_to_the_script_that_worked(
    hr: Client, made: Queue, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("headrace.operations.putting.time.monotonic", lambda: now)
    made.configure(fair=True)
    calls = []
    for _ in range(3):
        with commands(url) as sent:
            made.put(1)
        calls.append(len(sent))
    assert calls == [2, 1, 1]

    now += DETOUR + 0.1
    with commands(url) as sent:
        made.put(1)
    assert [command.split()[1] for command in sent] == [
        hr.core.library[op].sha for op in ("put_one", "put")
    ]
