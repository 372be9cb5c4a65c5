"""Every accepted name is returned unchanged, and every payload byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace import Client, InvalidArgument, Limits
from headrace.engine.check import text
from headrace.testing import open_with_clock

LIMIT = 300_000
INLINE = 1024

numbers = count()


@pytest.fixture(scope="module")
def raw(valkey_url: str) -> Iterator[Client]:
    hr, _ = open_with_clock(valkey_url, codec="raw", limits=Limits(payload=LIMIT))
    with hr:
        yield hr


@pytest.fixture(scope="module")
def spread(valkey_url: str) -> Iterator[Client]:
    """The same with several shards, where names decide the shard of a job."""
    hr, _ = open_with_clock(valkey_url, shards=5)
    with hr:
        yield hr


def is_name(value: str) -> bool:
    try:
        text("name", value, 250)
    except InvalidArgument:
        return False
    return True


names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60),
    st.text("{}~:%*[]\\\"' \u2028\u200b\u0085😀é0", min_size=1, max_size=30),
).filter(is_name)
payloads = st.one_of(
    st.binary(max_size=200),
    st.binary(min_size=INLINE - 2, max_size=INLINE + 2),
    st.builds(
        lambda part, times: part * times, st.binary(min_size=1, max_size=64), st.integers(1, 400)
    ),
)


@settings(deadline=None, max_examples=150)
@given(queue=names, job_id=names, worker=names, failure=names)
@example(queue="{}", job_id="}{", worker="{a}{b}", failure="a}b{c")
@example(queue="-inf", job_id="+inf", worker="(a", failure="[a")
@example(queue="😀" * 62, job_id="é" * 125, worker="\u2028", failure="nil")
def test_names_come_back_as_they_were(
    spread: Client, queue: str, job_id: str, worker: str, failure: str
) -> None:
    hr = spread
    mail = hr.queue(queue)
    with hr.session(worker) as session:
        session.serve(queue)
        assert mail.put("x", id=job_id, tags=[queue, worker]) == job_id
        [lease] = mail.pop(worker)
        assert (lease.id, lease.queue, lease.worker) == (job_id, queue, worker)
        assert [(one.name, one.queues, one.jobs) for one in hr.workers.list()] == [
            (worker, [queue], 1)
        ]
        assert lease.fail(failure, "why") == "failed"

    [job] = hr.failures.jobs(failure).jobs
    assert (job.id, job.queue) == (job_id, queue)
    assert job.tags == list(dict.fromkeys([queue, worker]))
    assert job.failure is not None
    assert (job.failure.type, job.failure.worker) == (failure, worker)
    assert hr.failures.counts() == {failure: 1}
    assert {name: counts.failed for name, counts in hr.queues().items()} == {queue: 1}
    twin = mail.put("y", id=job_id, on_exists="duplicate")
    assert [found.data for found in hr.jobs([twin, job_id])] == ["y", "x"]
    assert hr.audit().problems == []
    mail.delete()
    assert hr.queues() == {}


@settings(deadline=None, max_examples=150)
@given(data=payloads, other=payloads, result=payloads)
@example(data=b"", other=b"\0", result=b"")
@example(data=b"\xc2", other=b"\xff" * INLINE, result=b"=")
@example(data=b"\xdb" * INLINE, other=b"", result=b"\n" * (INLINE + 1))
@example(data=b"x" * LIMIT, other=b"y" * LIMIT, result=b"z" * LIMIT)
def test_payloads_come_back_byte_for_byte(
    raw: Client, data: bytes, other: bytes, result: bytes
) -> None:
    job_id = f"job {next(numbers)}"
    queue = raw.queue("mail")
    queue.put(data, id=job_id)
    assert queue.peek()[0].payload == data
    [lease] = queue.pop("w")
    assert lease.payload == lease.data == lease.job.data == data

    lease.heartbeat(data=other)
    [job] = raw.jobs([job_id])
    assert job.data == other
    lease.release()
    [again] = queue.pop("w")
    assert again.data == other

    assert again.complete(result) == "complete"
    found = raw.result(job_id, take=True)
    assert (found.value, found.data) == (result, other)
    raw.requeue(job_id)
    assert raw.cancel(job_id) == [job_id]


def test_a_payload_above_the_limit_is_refused(raw: Client) -> None:
    with pytest.raises(InvalidArgument, match=r"Limits\(payload=...\)"):
        raw.queue("mail").put(b"x" * (LIMIT + 1))


@settings(deadline=None, max_examples=60)
@given(line=st.text(st.characters(exclude_categories=["Cs"]), max_size=3000))
@example(line="x" + "é" * 1000)
@example(line="\0\n\x7f")
def test_messages_notes_and_log_lines_come_back_as_they_were(spread: Client, line: str) -> None:
    queue = spread.queue("texts")
    job_id = queue.put("x")
    [lease] = queue.pop("w")
    lease.log(line)
    lease.progress(0.5, line)
    lease.fail("boom", line)

    [job] = spread.jobs([job_id])
    assert ([text for _, text in job.log], job.note) == ([line], line)
    assert job.failure is not None
    assert job.failure.message == line
    said = [event.message for event in spread.events() if event.job_id == job_id]
    assert line.startswith(said[-1] or "")
    assert len(said[-1] or "") > min(len(line), 1024) // 4 - 1
    spread.cancel(job_id)
