"""Walks through unique values, tags and tracked jobs."""

from __future__ import annotations

from typing import Any

from tests.model.jobs.tour import LARGE, Tour

LAST_WORDS: list[tuple[str, dict[str, Any]]] = [
    ("tag", {"names": ["first"], "most": 9}),
    ("untag", {"names": ["first"]}),
    ("track", {"most": 9}),
    ("untrack", {}),
    ("prioritise", {"priority": 1}),
    ("cancel", {}),
    ("timeout", {}),
    ("retry", {"delay": 0}),
    ("requeue", {"queue": "", "delay": 0}),
]


def one_of_a_kind(tour: Tour) -> None:
    tour.open("job")
    tour.put_unique("job", "u", "a", delay=5000, tags=["x"])
    tour.put_unique("job", "u", "b")
    tour.put_unique("job", "u", "b", policy="replace", delay=1000, priority=-1, tags=["y"])
    tour.put_unique("job", "u", "b", policy="replace", data=LARGE)
    tour.put_unique("job", "u", "b", "c", policy="duplicate")
    tour.tick(1000)
    assert tour.pop("job") == ["a"]
    tour.put_unique("job", "u", "d", "e", policy="replace")
    tour.put("job", "d", policy="replace", unique="v")
    tour.put_unique("job", "u", "f")
    tour.put("job", "d", policy="replace", unique="u")
    tour.put("job", "f", policy="move", unique="v")
    tour.put("job", "f", policy="duplicate", unique="u")
    tour.put("job", "d", policy="move")
    assert tour.pop("job", count=2) == ["f", "d"]
    tour.fail("f")
    tour.put_unique("job", "u", "g")
    tour.by_id("retry", "f", delay=0)
    tour.by_id("requeue", "f", queue="", delay=0)
    tour.put("job", "f", policy="move")
    tour.by_id("cancel", "g")
    tour.by_id("retry", "f", delay=0)
    tour.put_unique("job", "u", "g")
    tour.complete("d")
    tour.put_unique("job", "v", "h", start_within=500)
    tour.by_id("requeue", "d", queue="", delay=0)
    tour.tick(500)
    tour.by_id("requeue", "d", "a", queue="", delay=0)
    tour.put_unique("job", "v", "h")
    tour.put_unique("job", "w", "i")
    assert tour.pop("job", count=9) == ["a", "f", "h", "i"]
    tour.complete("i", result="1")
    tour.put_unique("job", "w", "j")
    tour.by_id("requeue", "i", queue="", delay=0)
    tour.do("delete_queue", queue="job", at_most=500)
    tour.put_unique("job", "w", "k")


def of_a_kind_in_every_queue(tour: Tour) -> None:
    for profile in ("job", "manual", "fifo"):
        tour.open(profile)
    for queue in ("job", "manual"):
        tour.put_unique(queue, "u", f"a {queue}")
        tour.put_unique(queue, "v", f"b {queue}")
    assert tour.pop("job", count=2) == ["a job", "b job"]
    tour.complete("a job", to="manual")
    tour.put_unique("job", "u", "c")
    tour.complete("b job", to="fifo")
    tour.put_unique("job", "v", "d")
    tour.put_unique("fifo", "v", "e")
    tour.by_id("requeue", "c", "d", queue="fifo", delay=0)
    tour.put_unique("job", "u", "f")
    assert tour.pop("fifo", count=2) == ["b job", "c"]
    tour.put_unique("fifo", "v", "g")
    tour.put("fifo", "d", policy="move")
    tour.put("manual", "d", policy="move", unique="w")
    tour.put_unique("job", "v", "h")
    assert tour.pop("manual", count=9) == ["a manual", "b manual", "a job", "d"]
    tour.complete("a manual", "b manual", "a job")
    tour.complete("d", result="1")
    for value in ("u", "v", "w"):
        tour.put_unique("manual", value, f"{value} again")


def by_tag(tour: Tour) -> None:
    tour.open("job", keep_count=2)
    tour.open("manual")
    tour.put("job", *"abc", tags=["x", "y"])
    tour.put("manual", "m", tags=["x"])
    tour.tick(1000)
    tour.do("tag", [("a",), ("gone",)], names=["y", "z"], most=3)
    tour.do("tag", [("a",), ("b",)], names=["z", "more"], most=3)
    tour.do("tag", [("a",)], names=["x"], most=1)
    tour.do("untag", [("b",), ("gone",)], names=["y", "none"])
    tour.do("untag", [("b",)], names=["y"])
    tour.put("job", "c", policy="replace", tags=["y", "w"])
    tour.put("job", "c", policy="move")
    tour.put("job", "d", tags=["x"])
    tour.pop("job", count=9)
    tour.pop("manual")
    tour.complete("m")
    tour.complete("a", "b", result="1")
    tour.do("untag", [("a",)], names=["x"])
    tour.do("tag", [("a",), ("b",)], names=["late"], most=9)
    tour.complete("c", "d")
    tour.put("job", "h", "i", tags=["x"])
    tour.pop("job", count=2)
    tour.complete("h", "i")
    tour.do("take_result", id="a")
    tour.put("manual", "n", "o", tags=["x"], result_ttl=1000)
    tour.pop("manual", count=2)
    tour.complete("n", "o", result="1")
    tour.do("take_result", id="n")
    tour.tick(1000)
    tour.sweep()
    tour.put("job", "e", "f", tags=["x"])
    tour.put("job", "g", tags=["x"], start_within=10)
    tour.by_id("cancel", "e")
    tour.tick(10)
    tour.sweep()
    tour.do("delete_queue", queue="job", at_most=500)
    tour.sweep()


def as_they_leave(tour: Tour) -> None:
    """Call every operation on a complete job that the call itself deletes, by its retention."""
    tour.open("job", keep_age=60_000)
    for op, args in LAST_WORDS:
        tour.put("job", op)
        tour.pop("job")
        tour.complete(op)
        tour.tick(60_000)
        tour.do(op, [(op,)], **args)
        tour.sweep()
        assert op == "requeue" or op not in tour.twin.model.jobs
        tour.do("untrack", [(op,)])


def as_it_is_told(tour: Tour) -> None:
    tour.open("job")
    tour.open("fifo")
    tour.put("job", *"abc")
    tour.by_id("track", "a", "gone", "a", most=9)
    tour.by_id("track", "b", "c", most=2)
    tour.pop("job", count=2)
    tour.tick(1)
    tour.by_id("track", "a", most=9)
    tour.release("a", delay=500)
    tour.complete("b")
    tour.by_id("prioritise", "a", "c", priority=-1)
    tour.do("tag", [("a",), ("b",)], names=["x"], most=9)
    tour.tick(500)
    tour.pop("job", count=2)
    tour.tick(-1)
    tour.fail("a")
    tour.by_id("untrack", "b", "gone")
    tour.by_id("retry", "a", delay=0)
    tour.put("fifo", "b", policy="move")
    tour.by_id("track", "b", most=9)
    tour.pop("fifo")
    tour.put("job", "b")
    tour.by_id("track", "c", most=2)
    tour.by_id("track", "b", most=2)
    tour.put("job", "b", policy="replace", data=LARGE)
    tour.by_id("cancel", "a", "b")
    tour.by_id("untrack", "a")
    tour.by_id("untrack", "b")


def although_answers_of_theirs_get_lost(tour: Tour) -> None:
    tour.twin.answers_get_lost = True
    tour.open("job")
    tour.put_unique("job", "u", "a")
    tour.put_unique("job", "u", "b", "c", policy="replace", delay=50)
    tour.put("job", "d", unique="v")
    tour.put("job", "d", unique="w", policy="replace")
    tour.do("tag", [("a",)], names=["x"], most=9)
    tour.do("untag", [("a",)], names=["x"])
    tour.by_id("track", "a", most=9)
    tour.by_id("untrack", "a")
    tour.tick(50)
    tour.pop("job", count=2)
    tour.put_unique("job", "u", "e", "f", policy="replace")
    tour.fail("d")
    tour.by_id("retry", "d", delay=0)
    tour.by_id("requeue", "d", queue="", delay=0)


TAG_WALKS = [
    one_of_a_kind,
    of_a_kind_in_every_queue,
    by_tag,
    as_they_leave,
    as_it_is_told,
    although_answers_of_theirs_get_lost,
]
