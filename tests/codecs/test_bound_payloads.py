"""An encrypted payload belongs to its job and queue, wherever Headrace itself moves the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace import App, Client, Encrypted, InvalidArgument, JobExists, Put, Unreadable
from headrace.codecs.codec import bound
from headrace.operations.values import Fail
from headrace.testing import open_with_clock
from tests.support.clients import CLIENT_KINDS, got, opened

KEYS = {"2026": Encrypted.new_key()}
STRICT = Encrypted(KEYS, unbound=False)


@pytest.fixture
def namespace() -> str:
    return f"bound-{uuid4().hex[:12]}"


@pytest.fixture
def hr(valkey_url: str, namespace: str) -> Iterator[Client]:
    """A client that refuses every payload that does not belong to its job and queue."""
    with headrace.connect(valkey_url, namespace=namespace, codec=STRICT) as found:
        yield found


@pytest.fixture
def intruder(valkey_url: str, namespace: str, hr: Client) -> Iterator[Client]:
    """A client without a key, which can write to the namespace."""
    assert hr.core.namespace == namespace
    with headrace.connect(valkey_url, namespace=namespace, codec="raw") as found:
        yield found


def payload_of(hr: Client, job_id: str) -> bytes:
    job = hr.job(job_id)
    assert job is not None
    return job.payload


# copies


def test_payload_copied_to_another_job_is_refused(hr: Client, intruder: Client) -> None:
    hr.queue("mail").put({"to": "ada"}, id="a")
    intruder.queue("mail").put(payload_of(hr, "a"), id="b")

    [_, lease] = hr.queue("mail").pop("w", count=2)

    with pytest.raises(Unreadable, match=r"is the data of job 'a'.*stored as the data of job 'b'"):
        _ = lease.data
    with pytest.raises(Unreadable, match="copied"):
        _ = lease.job.data


def test_payload_copied_to_another_queue_is_refused(hr: Client, intruder: Client) -> None:
    job_id = hr.queue("mail").put({"to": "ada"})
    intruder.queue("admin").put(payload_of(hr, job_id), id=job_id)

    [lease] = hr.queue("admin").pop("w")

    with pytest.raises(Unreadable, match=r"of queue 'mail', but .* of queue 'admin'"):
        _ = lease.data


def test_result_copied_to_the_data_or_to_another_job_is_refused(
    hr: Client, intruder: Client
) -> None:
    hr.queue("mail").put(1, id="a")
    hr.queue("mail").pop("w")[0].complete("result")
    stolen = intruder.result("a").value
    intruder.queue("mail").put(stolen, id="a")
    with pytest.raises(Unreadable, match="is the result of job 'a'"):
        _ = hr.queue("mail").pop("w")[0].data

    intruder.queue("mail").put(b"", id="b")
    intruder.queue("mail").pop("w")[0].complete(stolen)
    with pytest.raises(Unreadable, match="stored as the result of job 'b'"):
        hr.result("b")


def test_payload_without_a_job_is_refused_on_request(
    hr: Client, intruder: Client, valkey_url: str, namespace: str
) -> None:
    """An earlier version wrote such payloads."""
    intruder.queue("mail").put(Encrypted(KEYS).encode("old"))

    [job] = hr.queue("mail").peek(1)
    with pytest.raises(Unreadable, match="belongs to no job"):
        _ = job.data
    with headrace.connect(valkey_url, namespace=namespace, codec=Encrypted(KEYS)) as other:
        assert other.queue("mail").peek(1)[0].data == "old"


@settings(deadline=None)
@given(
    at=st.integers(0, 10**6),
    to=st.integers(1, 255),
    job_id=st.text(max_size=30),
    queue=st.text(max_size=30),
)
def test_changed_byte_of_a_bound_payload_is_detected(
    at: int, to: int, job_id: str, queue: str
) -> None:
    codec = bound(STRICT, job_id, queue)
    payload = codec.encode("x")
    assert codec.decode(payload) == STRICT.decode(payload) == "x"
    changed = bytearray(payload)
    changed[at % len(changed)] ^= to
    for cut in (bytes(changed), payload[: at % len(payload)]):
        with pytest.raises(Unreadable):
            codec.decode(cut)


# jobs that Headrace moves


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_every_put_can_be_read(client_kind: str, valkey_url: str) -> None:
    name = f"bound-{uuid4().hex[:12]}"
    async with opened(client_kind, valkey_url, namespace=name, codec=STRICT) as hr:
        mail = hr.queue("mail")
        await got(mail.put(0))
        await got(mail.put(1, priority=1, tags=["a"]))
        await got(mail.put(2, id="two"))
        await got(mail.put("changed", unique="u"))
        await got(mail.put(3, unique="u", on_exists="replace"))
        await got(mail.put_many([4, Put(5, id="five"), Put(6, priority=2)]))
        for on_exists in ("move", "replace", "duplicate", "reject"):
            await got(mail.put(7, id=f"seven {on_exists}", on_exists=on_exists))
        await got(hr.queue("elsewhere").put(8, id="five", on_exists="replace"))
        await got(mail.put(9, id="two", on_exists="duplicate"))
        await got(mail.put(10, unique=True))
        await got(hr.chain([("mail", 11), ("mail", 12)]))
        group = hr.group()
        await got(group.put("mail", 13))
        await got(group.then("mail", 14))
        found: list[int] = []
        while leases := await got(mail.pop("w", count=20)):
            found += [lease.data for lease in leases]
            assert found[-len(leases) :] == [lease.job.data for lease in leases]
            await got(hr.leases.complete(leases))
        assert sorted(found) == sorted([0, 1, 2, 3, 4, 8, 6, 7, 7, 7, 7, 9, 10, 11, 12, 13, 14])


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_data_can_be_read_after_every_change(client_kind: str, valkey_url: str) -> None:
    name = f"bound-{uuid4().hex[:12]}"
    async with opened(client_kind, valkey_url, namespace=name, codec=STRICT) as hr:
        mail, job_id = hr.queue("mail"), "a"
        await got(mail.put("first", id=job_id))

        async def lease_of(queue: str, data: str) -> Any:
            [lease] = await got(hr.queue(queue).pop("w"))
            assert (lease.id, lease.data) == (job_id, data)
            assert (await got(hr.job(job_id))).data == data
            return lease

        await got((await lease_of("mail", "first")).release())
        lease = await lease_of("mail", "first")
        await got(lease.heartbeat(data="beaten"))
        await got(lease.fail("io", retry_in=0, data="failed"))
        await got((await lease_of("mail", "failed")).fail("io"))
        await got(hr.retry(job_id))
        await got(hr.leases.fail([Fail(await lease_of("mail", "failed"), "io", retry_in=0)]))
        await got(hr.requeue(job_id))
        await got((await lease_of("mail", "failed")).complete(next="post"))
        await got((await lease_of("post", "failed")).complete(next="archive", data="moved"))
        await got(hr.leases.complete([await lease_of("archive", "moved")], next="last"))
        lease = await lease_of("last", "moved")
        await got(hr.queue("last").complete_and_pop([lease], "w", results=["well"]))
        result = await got(hr.result(job_id))
        assert (result.value, result.data) == ("well", "moved")
        assert (await got(hr.job(job_id))).data == "moved"


def test_jobs_of_a_schedule_can_be_read_in_their_queue(valkey_url: str) -> None:
    hr, clock = open_with_clock(valkey_url, codec=STRICT)
    with hr:
        mail = hr.queue("mail")
        mail.schedule("hourly", "first", every=3600)
        [lease] = mail.pop("w")
        assert lease.data == "first"
        lease.complete()
        hr.schedules.update("hourly", data="second")
        clock.tick(3600)
        assert mail.pop("w")[0].data == "second"
        assert hr.schedules.get("hourly").data == "second"  # type: ignore[union-attr]


@pytest.mark.parametrize("profile", ["fifo", "task", "manual", "ring"])
def test_jobs_of_every_profile_can_be_read(hr: Client, profile: str) -> None:
    queue = hr.queue(profile)
    queue.configure(profile)
    if profile == "task":
        hr.session("w", ttl=None).serve(profile)
    for job_id in ("same", "{same}", "same", "{same}"):
        with suppress(JobExists):
            queue.put(job_id, id=job_id)
    leases = queue.pop("w", count=4)
    assert {lease.data for lease in leases} == {"same", "{same}"}
    assert len(leases) == (2 if profile == "ring" else 4)


def test_task_reads_its_call_and_its_result_can_be_read(valkey_url: str, namespace: str) -> None:
    app = App(namespace, url=valkey_url, codec=STRICT)

    @app.task(queue="mail")
    async def double(number: int) -> int:
        return 2 * number

    job_id = double.put(number=4)
    app.run_pending()
    assert app.client.result(job_id).value == 8
    with app.inlined():
        assert double.result(double.put(number=5)) == 10
    app.close()


# moves that no key accompanies


def test_job_that_was_requeued_into_another_queue_needs_a_weaker_check(
    hr: Client, valkey_url: str, namespace: str
) -> None:
    job_id = hr.queue("mail").put("data")
    hr.requeue(job_id, queue="post")

    with pytest.raises(Unreadable, match="check='job'"):
        _ = hr.queue("post").peek(1)[0].data
    weaker = Encrypted(KEYS, check="job")
    with headrace.connect(valkey_url, namespace=namespace, codec=weaker) as other:
        assert other.queue("post").peek(1)[0].data == "data"


def test_only_a_codec_that_checks_nothing_reads_a_copy() -> None:
    payload = bound(STRICT, "a", "mail").encode("data")

    for check, reads in (("queue", False), ("job", False), ("nothing", True)):
        codec = bound(Encrypted(KEYS, check=check), "b", "mail")  # type: ignore[arg-type]
        if reads:
            assert codec.decode(payload) == "data"
        else:
            with pytest.raises(Unreadable, match="stored as the data of job 'b'"):
                codec.decode(payload)


def test_unknown_check_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="check must be"):
        Encrypted(KEYS, check="all")  # type: ignore[arg-type]
