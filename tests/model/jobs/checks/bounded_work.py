"""States that need many calls: each call does a part, and the parts add up."""

from __future__ import annotations

import math

from redis.exceptions import ResponseError

from headrace import Client, Put
from headrace.engine import keys
from headrace.engine.call import build, pack
from headrace.operations.popping import pop_call
from headrace.testing import Clock
from tests.model.harness import Swaps, opened

MANY = 700
BUSY = -2


def work_is_done_in_parts(url: str, swaps: Swaps) -> None:
    """Raise if a call does too much, or if the calls together do too little."""
    for check in (
        _late_leases_keep_their_order,
        _own_jobs_of_a_dead_worker_return_first,
        _sweep_returns_all_jobs_of_dead_workers,
        _other_callers_wait_for_their_turn,
        _turn_ends,
        _pushed_elements_are_taken_as_needed,
        _huge_element_fails,
        _large_payloads_fill_a_reply,
        _schedules_share_a_call,
        _runs_are_skipped_together,
        _gates_are_checked_in_parts,
        _tags_and_names_are_limited,
    ):
        hr, clock = opened(url, swaps)
        with hr:
            check(hr, clock)
            assert hr.audit().balanced


def _pop(hr: Client, worker: str = "a", queue: str = "mail", count: int = 1) -> tuple[int, int]:
    """Pop with one call; return when something is due, and the number of jobs."""
    call = pop_call(hr.queue(queue), worker, count, None)(count)
    [reply] = hr.core.transport.send([(0, hr.core.words(0, call))])
    return reply[0], len(reply[2::2])


def _hold(hr: Client, worker: str, number: int, queue: str = "mail") -> list[str]:
    put = hr.queue(queue).put_many(range(number))
    hr.session(worker)
    while hr.queue(queue).pop(worker, count=500, lease=math.inf):
        pass
    return put


def _left(hr: Client) -> int:
    """Return how many jobs the worker "dead" still holds."""
    [left] = hr.core.transport.send([(0, ("ZCARD", hr.core.key(0, keys.held("dead"))))])
    return int(left)


def _late_leases_keep_their_order(hr: Client, clock: Clock) -> None:
    queue = hr.queue("mail")
    put = queue.put_many(range(80))
    queue.pop("slow", count=80, lease=2)
    first = queue.put(0)
    queue.pop("slow", lease=1)
    clock.tick(3)
    assert [lease.id for lease in queue.pop("a", count=3)] == [first, *put[:2]]
    assert [lease.id for _ in range(78) for lease in queue.pop("a")] == put[2:]


def _own_jobs_of_a_dead_worker_return_first(hr: Client, clock: Clock) -> None:
    put = _hold(hr, "dead", MANY)
    other = hr.queue("other")
    other.put_many(range(9))
    hr.queue("mail").put(0, priority=1)
    clock.tick(10)
    assert _pop(hr, queue="other") == (0, 1)
    assert MANY - 40 < hr.queue("mail").counts().running < MANY
    served = []
    while leases := hr.queue("mail").pop("a", count=50):
        served += [lease.id for lease in leases]
    assert served[:-1] == put


def _sweep_returns_all_jobs_of_dead_workers(hr: Client, clock: Clock) -> None:
    _hold(hr, "dead", MANY)
    clock.tick(10)
    hr.sweep()
    assert hr.queue("mail").counts().waiting == MANY
    assert hr.workers.list() == []


def _other_callers_wait_for_their_turn(hr: Client, clock: Clock) -> None:
    _hold(hr, "dead", MANY)
    hr.queue("mail").put(0, priority=-1)
    clock.tick(10)
    assert _pop(hr, "a") == (0, 0)
    left = _left(hr)
    assert 0 < left < MANY
    assert _pop(hr, "b")[1] == 1
    while _pop(hr, "b", count=500)[1]:
        pass
    assert (_pop(hr, "b"), _left(hr)) == ((BUSY, 0), left)
    assert _pop(hr, "a") == (0, 0)
    assert 0 < _left(hr) < left
    for _ in range(9):
        due, jobs = _pop(hr, "a")
        if jobs or due != 0:
            break
    assert (_pop(hr, "b")[1], _left(hr)) == (1, 0)
    assert hr.core.transport.send([(0, ("EXISTS", hr.core.key(0, keys.TURN)))]) == [0]


def _turn_ends(hr: Client, clock: Clock) -> None:
    queue = hr.queue("mail")
    queue.put_many(range(3 * MANY), delay=1)
    clock.tick(10)
    for seconds, skips in ((0.1, 0), (-5, 0), (0, 64)):
        assert _pop(hr, "a", count=500) == (0, 0)
        while _pop(hr, "c", count=500)[1]:
            pass
        assert _pop(hr, "c") == (BUSY, 0)
        left = queue.counts().scheduled
        clock.tick(seconds)
        for _ in range(skips):
            _pop(hr, "c")
        _pop(hr, "b")
        assert 0 < queue.counts().scheduled < left
        clock.tick(10)


def _pushed_elements_are_taken_as_needed(hr: Client, _: Clock) -> None:
    queue, where = hr.queue("mail"), hr.core.key(0, keys.ingress("mail"))
    queue.put_many(range(10))
    queue.put(10, priority=1)
    hr.core.transport.send([(0, ("LPUSH", where, *map(str, range(100, 200))))])
    assert [lease.data for lease in queue.pop("a", count=10)] == [*range(10)]
    assert queue.counts().waiting == 1
    assert [lease.data for lease in queue.pop("a", count=100)] == [*range(100, 200)]
    assert [lease.data for lease in queue.pop("a")] == [10]


def _huge_element_fails(hr: Client, _: Clock) -> None:
    where = hr.core.key(0, keys.ingress("mail"))
    hr.core.transport.send([(0, ("LPUSH", where, "1", b"x" * ((1 << 24) + 1), "2"))])
    assert [lease.data for _ in "ab" for lease in hr.queue("mail").pop("a", count=9)] == [1, 2]
    assert hr.failures.counts() == {"payload too large": 1}


def _large_payloads_fill_a_reply(hr: Client, _: Clock) -> None:
    hr.queue("mail").put_many(["x" * 1_000_000] * 9)
    assert _pop(hr, count=9)[1] == 5
    assert _pop(hr, count=9)[1] == 4


def _schedules_share_a_call(hr: Client, clock: Clock) -> None:
    queue = hr.queue("mail")
    queue.schedule("old", "old", every=1, backlog=None)
    clock.tick(1000)
    queue.schedule("new", "new", every=1)
    clock.tick(1)
    assert _pop(hr)[1] == 1
    counts = {one.id: one.made for one in hr.schedules.list()}
    assert (counts["new"], counts["old"] < 200) == (1, True)


def _runs_are_skipped_together(hr: Client, clock: Clock) -> None:
    queue = hr.queue("mail")
    queue.schedule("often", 1, every=1, backlog=None, unique=True)
    queue.schedule("cron", 2, cron="* * * * *", backlog=None, unique=True)
    clock.tick(1000 * 60)
    assert _pop(hr, count=9) == (0, 2)
    assert _pop(hr, count=9) != (0, 1)
    assert {one.id: one.skipped for one in hr.schedules.list()} == {"often": 60_000, "cron": 999}


def _gates_are_checked_in_parts(hr: Client, _clock: Clock) -> None:
    queue = hr.queue("mail")
    queue.configure(key_concurrency=1)
    for _ in range(2):
        queue.put_many([Put(n, key=str(n)) for n in range(1100)])
    while queue.pop("a", count=500):
        pass
    queue.configure(key_concurrency=2)
    assert sum(_pop(hr, count=500)[1] for _ in range(40)) == 1100


def _tags_and_names_are_limited(hr: Client, _: Clock) -> None:
    hr.queue("mail").put(0, id="job")
    names = [str(n) for n in range(1001)]
    for tags, refused in ((names[:1000], False), (names, True), (["one more"], True)):
        call = build("tag", list, [("job",)], names=pack(tags), most=10**6)
        [[answer]] = hr.core.transport.send([(0, hr.core.words(0, call))])
        assert (answer == b"TOO_MANY tags 1000") == refused
    for options in ({"tags": names}, {"tags": names, "delay": 1}):
        call = build("put", list, [("new", b"1")], queue="mail", options=pack(options))
        assert hr.core.transport.send([(0, hr.core.words(0, call))]) == [[b"TOO_MANY tags 1000"]]
    for queue, job_id in (("q" * 65_537, "new"), ("mail", "n" * 65_537)):
        call = build("put", list, [(job_id, b"1")], queue=queue, options=b"")
        [error] = hr.core.transport.send([(0, hr.core.words(0, call))])
        assert isinstance(error, ResponseError)
    assert hr.job("new") is None
