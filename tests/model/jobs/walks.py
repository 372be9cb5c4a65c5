"""Short walks with fixed steps, compared with the model after every step.

Random steps rarely reach these cases: limits, ten or more of something, rare outcomes. The
walks contain few expected values; the model has them all.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.model.jobs.tour import LARGE, Tour


def by_priority_then_by_age(tour: Tour) -> None:
    tour.open("job")
    for number in range(12):
        tour.put("job", f"j{number}", priority=(0, 1e9, -1e9)[number % 3])
    tour.peek("job", 12)
    assert tour.pop("job", count=3) == ["j2", "j5", "j8"]
    tour.release("j5", "front")
    tour.release("j8", "back")
    tour.release("j2", "front")
    tour.by_id("prioritise", "j9", priority=-2e9)
    assert tour.pop("job", count=5) == ["j9", "j2", "j5", "j11", "j8"]
    tour.by_id("prioritise", "j9", "j10", "gone", priority=0.5)
    tour.by_id("timeout", "j9", "j0")
    tour.peek("job", 9)
    tour.put_plainly("job", "z", "y")
    tour.put_plainly("job", "x")
    assert tour.pop("job", count=20)[:8] == ["j9", "j0", "j3", "j6", "z", "y", "x", "j10"]


def to_the_very_front(tour: Tour) -> None:
    tour.open("job")
    tour.put("job", *"dcbaef")
    tour.put("job", "better", priority=-1e9)
    assert tour.pop("job", count=5) == ["better", *"dcba"]
    tour.put("job", "best", priority=-2e9)
    tour.by_id("timeout", "a")
    tour.by_id("timeout", "d", "b")
    tour.by_id("timeout", "c")
    tour.peek("job", 9)
    tour.by_id("prioritise", "d", priority=-3)
    tour.put("job", "b", policy="replace", priority=7)
    assert tour.pop("job") == ["c"]
    tour.release("c", "front")
    assert tour.pop("job", count=3) == ["b", "a", "best"]
    tour.by_id("timeout", "a")
    tour.by_id("requeue", "a", queue="job", delay=0)
    assert tour.pop("job", count=9) == ["d", "c", "e", "f", "a"]


def in_due_time(tour: Tour) -> None:
    tour.open("job")
    tour.put("job", "later", "sooner", delay=5000)
    tour.put("job", "sooner", policy="replace", delay=1000, priority=3)
    tour.put("job", "in time", start_within=4000, delay=2000)
    tour.put("job", "too late", start_within=4000)
    tour.put("job", "never due", start_within=4000, delay=9000)
    tour.tick(999)
    assert tour.pop("job") == ["too late"]
    tour.tick(1)
    tour.put("job", "lively", start_within=9000)
    tour.peek("job", 3)
    tour.by_id("cancel", "lively")
    assert tour.pop("job") == ["sooner"]
    tour.tick(1500)
    assert tour.pop("job") == ["in time"]
    tour.tick(1500)
    tour.sweep()
    tour.tick(999)
    assert tour.pop("job") == []
    tour.tick(1)
    assert tour.pop("job") == ["later"]
    for name in ("late", "later yet", "latest"):
        tour.put("job", name, start_within=1000)
    tour.tick(1000)
    tour.put("job", "last")


def while_the_lease_lasts(tour: Tour) -> None:
    tour.open("job")
    tour.put("job", "a", "b", retries=1)
    tour.put("job", "c", priority=-5)
    assert tour.pop("job", "ada", count=3, lease=5000) == ["c", "a", "b"]
    tour.tick(4999)
    assert tour.pop("job", "bob") == []
    tour.beat("b", lease=4000)
    tour.tick(1)
    tour.peek("job", 3)
    assert tour.pop("job", "bob", count=2, lease=5000) == ["c", "a"]
    for job_id, token in tour.twin.leases[:2]:
        lost = [(job_id, token)]
        tour.do("heartbeat", [(*lost[0], LARGE)], lease=-1)
        tour.do("complete", [(*lost[0], None, None)], next_queue=None, delay=0)
        tour.do("complete", [(*lost[0], LARGE, None)], next_queue=None, delay=0)
        tour.do("complete", [(*lost[0], None, LARGE)], next_queue="job", delay=0)
        tour.do("fail", [(*lost[0], "io", "why", None, 0, LARGE)])
        tour.do("release", lost, position="back", delay=5, reason="worker")
    tour.do("check_leases", [*tour.twin.leases, ("gone", "1.none"), ("a", "1.none")])
    tour.tick(5000)
    tour.peek("job", 3)
    assert tour.pop("job", "ada", count=3, lease=5000) == ["b", "c"]
    tour.complete("c")
    tour.do("check_leases", tour.twin.leases)
    tour.fail("b", retry_in=0, kind="bug")
    tour.by_id("retry", "a", "b", "c", delay=0)
    assert tour.pop("job", "ada", count=2) == ["a", "b"]
    tour.fail("b", retry_in=700)
    tour.tick(700)
    assert tour.pop("job", "bob") == ["b"]
    tour.put("job", "d", "e")
    tour.pop("job", "bob", lease=0)
    assert tour.pop("job", "ada", count=3, lease=0) == ["d", "e"]


def to_the_end(tour: Tour) -> None:
    tour.open("job")
    tour.open("manual")
    tour.put("job", *"abcdefgh", result_ttl=3000)
    tour.pop("job", count=8)
    tour.complete("a", result=LARGE, data=LARGE)
    tour.complete("b", to="manual", delay=500)
    tour.do("complete", [("c", "", "null", None), ("a", "", None, None)], next_queue=None, delay=0)
    tour.do("fail", [(name, "", "io", "why", None, -1, None) for name in ("d", "a")])
    tour.do("fail", [("d", "", "bug", "why", None, -1, None)])
    tour.do("release", [("e", ""), ("d", "")], position="", delay=0, reason="operator")
    tour.by_id("cancel", "f", "d", "a", "gone")
    tour.by_id("requeue", "g", "a", queue="", delay=0)
    tour.by_id("requeue", "h", queue="manual", delay=100)
    tour.do("result", id="c")
    tour.tick(2999)
    tour.pop("manual", count=2)
    tour.complete("b", result="1")
    tour.complete("h")
    tour.do("take_result", id="c")
    tour.pop("job", count=3)
    tour.complete("g", result="2")
    tour.do("take_result", id="b")
    tour.complete("e", result="3")
    tour.tick(2999)
    tour.put("job", "g")
    tour.tick(1)
    tour.sweep()


def as_long_as_it_lives(tour: Tour) -> None:
    for profile in ("job", "task", "ring"):
        tour.open(profile)
    tour.put("task", "t1", "t2", "t3")
    tour.put("job", "j1", "j2", retries=0)
    tour.put("ring", "r1")
    tour.pop("task", "ada")
    mine = tour.session("ada")
    tour.pop("task", "ada")
    tour.do("session_serve", worker="ada", token=mine, queue="task")
    theirs = tour.session("bob", "task", ttl=-1)
    tour.pop("task", "ada", count=2)
    tour.pop("job", "ada", count=2)
    tour.complete("j1")
    tour.pop("ring", "ada")
    tour.pop("task", "bob")
    tour.tick(2999)
    tour.do("session_renew", worker="ada", token=mine)
    tour.do("session_unserve", worker="ada", token=mine, queue="task")
    tour.do("session_serve", worker="ada", token=mine, queue="task")
    tour.pop("task", "ada")
    tour.tick(3000)
    tour.do("session_renew", worker="ada", token=mine)
    tour.do("session_serve", worker="ada", token=mine, queue="job")
    tour.pop("task", "ada")
    tour.pop("task", "bob", count=3)
    tour.do("session_end", worker="ada", token="")
    tour.do("session_end", worker="bob", token=mine)
    tour.do("session_end", worker="bob", token=theirs)
    again = tour.session("ada", "task")
    tour.pop("task", "ada", count=2)
    tour.session("ada", "task")
    tour.do("session_end", worker="ada", token=again)
    tour.pop("task", "ada")
    tour.put("job", "j3")
    tour.pop("job", "ada", lease=1000)
    tour.tick(3000)
    tour.sweep()


def what_is_kept(tour: Tour) -> None:
    tour.open("job", keep_count=3, history=2)
    names = [f"k{number}" for number in range(6)]
    tour.put("job", *names)
    tour.pop("job", count=6)
    for name in names[:4]:
        tour.complete(name, result="1")
        tour.tick(1000)
    tour.put("job", "k3")
    tour.twin.configure("job", keep_count=9, keep_age=5000)
    tour.complete("k4")
    tour.twin.configure("job", keep_count=2)
    tour.sweep()
    tour.tick(4999)
    tour.sweep()
    tour.tick(1)
    tour.put("job", "new")
    for _ in range(4):
        tour.pop("job")
        tour.release("k3", "front")
    tour.complete("k5")
    tour.twin.configure("job", keep_count=0)
    tour.pop("job", count=2)
    tour.complete("k3", "new", result="1")
    tour.do("take_result", id="new")


def by_the_day(tour: Tour) -> None:
    tour.open("job", keep_count=1)
    second, minute, hour, day = 1000, 60_000, 3_600_000, 86_400_000
    spans = [0, 999, 59_999, minute, hour - 1, hour, hour + 15 * minute, day - 1, day]
    for number, span in enumerate([*spans, 3 * day - 1, 3 * day, 4 * day, 367 * day]):
        tour.put("job", f"s{number}")
        tour.tick(span)
        tour.pop("job", lease=second)
        tour.tick(span // 2)
        tour.complete(f"s{number}")
    tour.put("job", "x", "y")
    for _ in range(2):
        tour.pop("job", count=2, lease=second)
        tour.tick(second)
    tour.twin.view.check_days()


def from_queue_to_queue(tour: Tour) -> None:
    for profile in ("job", "fifo", "manual", "ring"):
        tour.open(profile)
    tour.put("fifo", "f", "f")
    assert tour.pop("fifo") == ["f"]
    tour.session("ada")
    tour.pop("fifo", count=2)
    tour.put("ring", "r", "r")
    tour.put("ring", "r", policy="replace", data=LARGE)
    tour.pop("ring")
    tour.put("ring", "r", policy="replace")
    tour.put("manual", "m", "n")
    tour.pop("manual")
    tour.release("m")
    assert tour.pop("manual") == ["n"]
    tour.twin.configure("manual", paused=True)
    tour.pop("manual")
    tour.peek("manual", 1)
    tour.twin.configure("manual", paused=False)
    tour.put("job", "m", "n", policy="move", tags=["vip"], retries=0)
    tour.put("job", "m", policy="replace", data=LARGE, retries=2)
    tour.put("job", "m", policy="duplicate", tags=[])
    tour.pop("job", count=2)
    tour.fail("m")
    tour.complete("n", result="1")
    tour.put("manual", "m", "n", policy="move")
    tour.put("manual", "m", policy="reject")
    tour.do("delete_queue", queue="job", at_most=500)
    tour.do("delete_queue", queue="job", at_most=500)
    tour.pop("manual", count=2)
    tour.do("delete_queue", queue="manual", at_most=500)


def by_a_clock_that_is_set_back(tour: Tour) -> None:
    tour.open("job")
    tour.session("ada", "job")
    tour.put("job", "a", "b", "c")
    tour.put("job", "d", delay=4000)
    tour.pop("job", lease=5000)
    tour.tick(-3000)
    tour.put_plainly("job", "e")
    tour.pop("job", count=2, lease=5000)
    tour.complete("a", "b")
    tour.release("c", delay=1000)
    tour.tick(6000)
    popped = tour.pop("job", "bob", count=3)
    tour.tick(-1)
    tour.complete(*popped)
    tour.sweep()


def although_answers_get_lost(tour: Tour) -> None:
    tour.twin.answers_get_lost = True
    tour.open("job")
    tour.put("job", "a", "b", "c", "d")
    tour.put("job", "a", "b", policy="move")
    tour.put("job", "c", policy="duplicate")
    tour.session("ada", "job")
    tour.pop("job", count=4, lease=5000)
    tour.beat("a")
    tour.complete("a", result="1")
    tour.complete("b", to="job", delay=50)
    tour.fail("c")
    tour.release("d", "back")
    tour.by_id("retry", "c", delay=0)
    tour.by_id("requeue", "a", queue="job", delay=0)
    tour.by_id("prioritise", "a", priority=4)
    tour.by_id("cancel", "c")
    tour.pop("job")
    tour.by_id("timeout", "d")
    tour.session("ada")
    tour.do("session_end", worker="ada", token="")
    tour.cancel_matching("job", '""')
    tour.do("delete_queue", queue="job", at_most=500)


def by_what_is_to_be_done(tour: Tour) -> None:
    tour.open("job")
    tour.open("manual")
    tour.put("job", *"abcdef", data='"x"')
    tour.put("job", "g", "h", data='"xx"')
    tour.put("job", "i", "j", "k", data=LARGE)
    tour.put("job", "l", data=LARGE[:-2] + '?"')
    tour.put("job", "m", data='"x"', delay=500, start_within=900)
    tour.put("job", "n", data='"x"', priority=-1)
    tour.put("manual", "o", data='"x"')
    tour.pop("job", count=4)
    tour.fail("n")
    tour.complete("a")
    tour.beat("b", data='"y"')
    for data in ('"x"', '"y"', '"z"', LARGE, ""):
        tour.matching("job", data)
    tour.cancel_matching("job", '"x"')
    tour.cancel_matching("job", LARGE)
    tour.cancel_matching("job", '"x"')
    tour.cancel_matching("manual", '"y"')
    tour.cancel_matching("nowhere", '"x"')
    tour.cancel_matching("job", '"y"')


def from_outside(tour: Tour) -> None:
    for queue in ("job", "ring", "fifo"):
        tour.open(queue)
    tour.put("job", "ingress-2", "ingress-3", "ingress-5", "a", priority=3)
    tour.push("job", "x", "", LARGE, "a")
    tour.tick(100)
    tour.by_id("cancel", "nobody")
    assert tour.pop("job", count=2) == ["ingress-1", "ingress-4"]
    tour.tick(5)
    tour.push("job", "y")
    tour.peek("job", 4)
    assert tour.pop("job", count=9)[:3] == ["ingress-7", "ingress-8", "ingress-9"]
    tour.put("ring", "b", "c")
    tour.push("ring", "d", "b", "d", "", "e" * 250, "e" * 251, LARGE)
    tour.push("fifo", "d", "d")
    tour.pop("ring")
    tour.push("ring", "b", "c", "f")
    tour.put("job", "e" * 248)
    tour.push("ring", "a", "e" * 248, "a")
    tour.pop("ring", count=20)
    tour.by_id("cancel", "a")
    tour.push("ring", "a")
    tour.sweep()
    tour.pop("ring", count=9)
    tour.pop("fifo", count=9)
    tour.push("ring", "f", "g")
    tour.by_id("cancel", "f")
    tour.twin.configure("ring", paused=True)
    tour.pop("ring")
    tour.session("ada", ttl=3000)
    tour.pop("job")
    tour.push("job", "z")
    tour.tick(3000)
    tour.pop("job")
    tour.push("fifo", "gone")
    tour.do("delete_queue", queue="fifo", at_most=500)
    tour.push("fifo", "gone")
    tour.do("delete_queue", queue="fifo", at_most=500)
    tour.do("delete_queue", queue="fifo", at_most=500)


WALKS: list[Callable[[Tour], None]] = [
    by_priority_then_by_age,
    to_the_very_front,
    in_due_time,
    while_the_lease_lasts,
    to_the_end,
    as_long_as_it_lives,
    what_is_kept,
    by_the_day,
    from_queue_to_queue,
    by_a_clock_that_is_set_back,
    although_answers_get_lost,
    by_what_is_to_be_done,
    from_outside,
]
