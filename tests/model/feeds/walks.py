"""Walks through all operations on feeds."""

from __future__ import annotations

from collections.abc import Callable

from tests.model.feeds.twin import FeedTwin
from tests.model.harness import Check, Swaps, named

LARGE = "large" * 4000


def the_newest_first(twin: FeedTwin) -> None:
    twin.create("news", max_length=3, about="what is new")
    twin.create("news")
    twin.publish("news", {"a": 1, "b": 2})
    twin.publish("news", {"c": 3})
    twin.publish("news", {"a": "edited"})
    twin.publish("news", {"d": 4})
    twin.publish("news", {"b": "edited", "c": LARGE})
    twin.publish("news", {"b": "touched"}, touch=True)
    twin.publish("news", {"e": 5, "f": 6, "c": 7})
    twin.publish_anew("news", None)
    twin.retract("news", ["e", "nothing", "f", "e"])
    twin.retract("news", ["nothing"])
    twin.publish("news", {"e": 5, "f": 6})
    twin.configure("news", 1)
    twin.publish("news", {"f": "edited"})
    twin.configure("news", None, "without an end")
    twin.publish("news", {name: name for name in "ghijk"})
    twin.delete("news")
    twin.delete("news")
    twin.publish("news", {"a": 1})
    twin.retract("news", ["a"])
    twin.configure("news", 1)
    twin.create("news")
    twin.publish("news", {"a": 1})


def in_an_order_of_ones_own(twin: FeedTwin) -> None:
    twin.create("line", is_sorted=True)
    for item in "abc":
        twin.publish_anew("line", item)
    twin.publish_anew("line", "d", "first")
    twin.publish_anew("line", "e", "before", "2")
    twin.insert("line", {"x": 1, "y": 2, "z": 3}, "after", "1")
    twin.insert("line", {"p": 1, "q": 2}, "first")
    twin.insert("line", {"r": 1, "s": 2}, "before", "3")
    twin.insert("line", {"x": "edited", "7": "new"})
    twin.publish_anew("line", "f")
    twin.publish_anew("line", "g")
    twin.insert("line", {"x": "moved", "q": "moved"}, "before", "r")
    twin.insert("line", {"x": "where it was"}, "before", "q")
    twin.insert("line", {"new": 1, "p": 2}, "after", "nothing")
    twin.move("line", ["q"], "first")
    twin.move("line", ["q", "s", "1"], "first")
    twin.move("line", ["q", "1"], "last")
    twin.move("line", ["1"], "last")
    twin.move("line", ["x"], "before", "y")
    twin.move("line", ["x"], "before", "y")
    twin.move("line", ["x", "p"], "after", "y")
    twin.move("line", ["x", "nothing"], "first")
    twin.move("line", ["x"], "after", "nothing")
    twin.retract("line", ["y", "q", "nothing"])
    twin.configure("line", None, "sorted")
    twin.delete("line")
    twin.move("line", ["x"], "first")
    twin.insert("line", {"x": 1})
    twin.create("line", is_sorted=True)
    twin.publish_anew("line", "a")
    twin.make_as_other_kind("line")
    twin.make_as_other_kind("line")


def between_two(twin: FeedTwin) -> None:
    twin.create("line", is_sorted=True)
    twin.insert("line", {"begin": 0, "end": 0})
    for number in range(40):
        twin.insert("line", {f"a{number}": number}, "after", "begin")
    for number in range(40):
        twin.insert("line", {f"b{number}": number}, "before", "end")


def although_answers_get_lost(twin: FeedTwin) -> None:
    twin.connection.on = True
    twin.create("news", max_length=3)
    twin.publish("news", {"a": 1, "b": 2, "c": 3, "d": 4})
    twin.publish("news", {"b": "edited"})
    twin.publish("news", {"b": "edited"})
    twin.publish("news", {"b": "edited"}, touch=True)
    twin.publish_anew("news", "new")
    twin.retract("news", ["b", "nothing"])
    twin.configure("news", 1, "short")
    twin.create("line", is_sorted=True)
    twin.insert("line", {"a": 1, "b": 2, "c": 3})
    twin.insert("line", {"a": 2}, "after", "b")
    twin.insert("line", {"d": 4, "e": 5}, "first")
    twin.publish_anew("line", "f", "before", "a")
    twin.move("line", ["e", "a"], "after", "c")
    twin.move("line", ["c"], "first")
    twin.retract("line", ["c"])
    twin.delete("line")
    twin.delete("news")


def although_others_come_in_between(twin: FeedTwin) -> None:
    twin.connection.on = True
    twin.create("news")
    twin.publish("news", {"a": 1, "b": 2})
    twin.connection.between = lambda: twin.publish("news", {"c": 3})
    twin.publish("news", {"a": "edited", "d": 4})
    twin.create("line", is_sorted=True)
    twin.insert("line", {"a": 1, "b": 2, "c": 3})
    twin.connection.between = lambda: twin.retract("line", ["b"])
    twin.insert("line", {"d": 4}, "after", "b")
    twin.connection.between = lambda: twin.insert("line", {"f": 5}, "first")
    twin.insert("line", {"e": 5}, "before", "c")
    twin.connection.between = lambda: twin.insert("line", {"g": 5}, "first")
    twin.insert("line", {"e": 6, "h": 7})
    twin.connection.between = lambda: twin.retract("line", ["c"])
    twin.move("line", ["a", "h"], "first")


WALKS: list[Callable[[FeedTwin], None]] = [
    the_newest_first,
    in_an_order_of_ones_own,
    between_two,
    although_answers_get_lost,
    although_others_come_in_between,
]


def walk(steps: Callable[[FeedTwin], None]) -> Check:
    """Return a check that takes the steps on a namespace of its own."""

    def run(url: str, swaps: Swaps) -> None:
        with FeedTwin(url, swaps) as twin:
            steps(twin)

    return named(steps.__name__, run)
