"""Checks of repeated calls, which change nothing and get the answer of the first call."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from headrace import Client, Queue
from headrace.engine.call import Call, build
from headrace.engine.source import source
from headrace.operations.finishing import complete_call
from headrace.operations.popping import Handout, pop_call
from headrace.operations.putting import put_call
from headrace.testing import Clock
from tests.model.harness import Check, Swaps, named, opened
from tests.support.dump import dump

REMEMBERED = 300
ANSWERS = ("answers", "older_answers")


def send(hr: Client, call: Call[Any], *, again: bool = False) -> Any:
    """Send a call once, and return its decoded answer."""
    [reply] = hr.core.transport.send([(0, hr.core.words(0, call, again=again))])
    assert not isinstance(reply, Exception), reply
    return call.decode(reply)


def repeat(hr: Client, call: Call[Any], answer: Any) -> None:
    """Repeat a call; raise unless the answer is this one and nothing changes."""
    before = dump(hr)
    assert send(hr, call, again=True) == answer
    assert dump(hr) == before


def cancel(job_id: str) -> Call[list[bytes]]:
    return build("cancel", list, [(job_id,)], cascade=0, expected=b"")


def answers_are_returned_again(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.put(1, id="a")
    call = cancel("a")
    assert send(hr, call) == [b"waiting"]
    mail.put(2, id="a")

    repeat(hr, call, [b"waiting"])

    assert mail.counts().waiting == 1


def refusals_are_not_remembered(hr: Client, _clock: Clock) -> None:
    call = cancel("a")
    assert send(hr, call) == [b"NOT_FOUND"]
    assert not hr.core.transport.send([(0, ("EXISTS", hr.core.key(0, "answers")))])[0]
    hr.queue("mail").put(1, id="a")

    assert send(hr, call, again=True) == [b"waiting"]


def answers_are_kept_for_five_minutes(hr: Client, clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.put(1, id="a")
    call = cancel("a")
    send(hr, call)
    for _ in range(REMEMBERED - 1):
        clock.tick(1)
        hr.sweep()
    repeat(hr, call, [b"waiting"])

    for _ in range(2):
        clock.tick(REMEMBERED)
        hr.sweep()

    [left] = hr.core.transport.send([(0, ("EXISTS", *(hr.core.key(0, key) for key in ANSWERS)))])
    [task] = hr.core.transport.send([(0, ("ZSCORE", hr.core.key(0, "agenda"), "answers:"))])
    assert (left, task) == (0, None)
    assert hr.audit().problems == []


def newest_answers_are_kept(hr: Client, clock: Clock) -> None:
    """The swap below lets a hash be full after ten answers."""
    mail = hr.queue("mail")
    calls = []
    for number in range(100):
        mail.put_many([number])
        [job] = mail.jobs("waiting").jobs
        calls.append(cancel(job.id))
        send(hr, calls[-1])
        clock.tick(1)
        lengths = hr.core.transport.send([(0, ("HLEN", hr.core.key(0, key))) for key in ANSWERS])
        assert sum(lengths) <= 2 * 14
    for call in calls[-4:]:
        repeat(hr, call, [b"waiting"])
    assert hr.audit().problems == []
    # The last answer is the last one that fits into its hash.
    while hr.core.transport.send([(0, ("EXISTS", hr.core.key(0, "answers")))])[0]:
        mail.put(1, id="last")
        last = cancel("last")
        send(hr, last)
    clock.tick(REMEMBERED - 1)
    hr.sweep()
    repeat(hr, last, [b"waiting"])


def put_and_delete(hr: Client, delete: Callable[[Queue], object]) -> None:
    """Raise unless a put that is repeated after its job was deleted creates no other job."""
    mail = hr.queue("mail")
    for call in (
        put_call("mail", [("one", b"1")], {}),
        put_call("mail", [("two", b"1"), ("three", b"1")], {"priority": 1}),
    ):
        send(hr, call)
        delete(mail)
        before = hr.queue("mail").counts()
        send(hr, call, again=True)
        assert hr.queue("mail").counts() == before


def deleted_jobs_are_not_created_again(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    put_and_delete(
        hr, lambda mail: [hr.cancel(job.id) for job in mail.jobs("waiting").jobs] and None
    )
    mail.delete()
    put_and_delete(hr, lambda mail: mail.delete())
    mail.configure(keep_count=1)
    put_and_delete(hr, lambda mail: [one.complete() for one in mail.pop("w", count=9)])
    mail.configure("fifo")
    put_and_delete(hr, lambda mail: mail.pop("w", count=9))


def completions_are_proved_although_the_job_is_gone(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    for keep_count in (0, 1, 5):
        mail.configure(keep_count=keep_count)
        mail.put_many(range(4))
        leases = mail.pop("w", count=4)
        call = complete_call(hr.core, [(lease.id, lease.token, b"") for lease in leases], None, 0)
        assert send(hr, call) == ["complete"] * 4
        if keep_count == 5:
            hr.requeue(leases[0].id)
        repeat(hr, call, ["complete"] * 4)


def cancelled_jobs_were_not_completed(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.put(1, id="a")
    [lease] = mail.pop("w")
    hr.cancel("a")
    call = complete_call(hr.core, [(lease.id, lease.token, b"")], None, 0)
    [answer] = send(hr, call, again=True)
    assert type(answer).__name__ == "JobNotFound"


def lost(hr: Client, count: int, lease: float | None) -> Call[Handout]:
    return pop_call(hr.queue("mail"), "w", count, lease)(count)  # type: ignore[no-any-return]


def lost_pops_are_found(hr: Client, clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.put_many(range(5000))
    hr.session("w", ttl=None)
    for lease in (math.inf, 30, None):
        for _ in range(2):
            assert len(mail.pop("w", count=500, lease=lease)) == 500
        clock.tick(1)
        call = lost(hr, 3, lease)
        first = send(hr, call)
        assert len(first.jobs) == 3
        assert len(mail.pop("w", count=500, lease=lease)) == 500
        for job in first.jobs[:1]:
            hr.prioritise(job.id, 0)
        found = send(hr, call, again=True)
        assert [job.id for job in found.jobs] == [job.id for job in first.jobs]
        assert [job.record.token for job in found.jobs] == [job.record.token for job in first.jobs]
        clock.tick(1)


def lookups(hr: Client) -> int:
    """Return how many keys the server has found so far."""
    [reply] = hr.core.transport.send([(0, ("INFO", "stats"))])
    return int(re.search(rb"keyspace_hits:(\d+)", reply)[1])  # type: ignore[index]


def repeated_pop_reads_few_jobs(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.configure("manual")
    mail.put_many(range(3000))
    call = lost(hr, 3, None)
    first = send(hr, call)
    for _ in range(5):
        mail.pop("w", count=500)
    before = lookups(hr)
    found = send(hr, call, again=True)
    assert lookups(hr) - before < 50
    assert [job.id for job in found.jobs] == [job.id for job in first.jobs]


def pops_with_equal_scores_are_distinguished(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.configure("manual")
    secrets = ["equal beginning 1", "equal beginning 2"]
    mail.put_many([secrets] * 4)
    calls = []
    for secret in secrets:
        call = lost(hr, 2, None)
        call.args = (*call.args[:2], secret, *call.args[3:])
        calls.append((call, send(hr, call)))
    for call, first in calls:
        found = send(hr, call, again=True)
        assert [job.id for job in found.jobs] == [job.id for job in first.jobs]


def heartbeats_keep_leases_endless(hr: Client, _clock: Clock) -> None:
    mail = hr.queue("mail")
    mail.configure("manual", concurrency=2)
    mail.put_many([1, 2, 3])
    call = lost(hr, 2, None)
    first = send(hr, call)
    [one, other] = [hr.job(job.id) for job in first.jobs]
    assert one is not None
    assert other is not None
    assert (one.expires, other.expires) == (None, None)
    rows = [(job.id, job.record.token, b"") for job in first.jobs]
    send(hr, build("heartbeat", list, rows, lease=-1))
    found = send(hr, call, again=True)
    assert [job.id for job in found.jobs] == [job.id for job in first.jobs]
    assert send(hr, lost(hr, 1, None)).due is None


def with_small_hashes(check: Check) -> Check:
    """Return the same check for scripts that keep few answers."""

    def run(url: str, swaps: Swaps) -> None:
        text = swaps.get("remembered_answers", source("lib/remembered_answers").text)
        small = text.replace("FULL = 640, 32000000", "FULL = 640, 6400")
        check(url, {**swaps, "remembered_answers": small})

    return named(check.__name__, run)


def on_a_namespace(steps: Callable[[Client, Clock], None]) -> Check:
    def run(url: str, swaps: Swaps) -> None:
        client, clock = opened(url, swaps)
        with client:
            steps(client, clock)

    return named(steps.__name__, run)


CHECKS = [
    *map(
        on_a_namespace,
        [
            answers_are_returned_again,
            refusals_are_not_remembered,
            answers_are_kept_for_five_minutes,
            deleted_jobs_are_not_created_again,
            completions_are_proved_although_the_job_is_gone,
            cancelled_jobs_were_not_completed,
            lost_pops_are_found,
            repeated_pop_reads_few_jobs,
            pops_with_equal_scores_are_distinguished,
            heartbeats_keep_leases_endless,
        ],
    ),
    with_small_hashes(on_a_namespace(newest_answers_are_kept)),
]
