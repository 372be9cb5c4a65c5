"""Random steps: a bounded and a sorted feed do what their models do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.model.feeds.twin import FeedTwin
from tests.proof import proves
from tests.support.effort import EFFORT, examples

ids = st.sampled_from(["a", "b", "c", "d", "e", "1", "7", "a b"])
contents = st.one_of(st.integers(0, 3), st.text(max_size=3), st.none())
items = st.dictionaries(ids, contents, min_size=1, max_size=3)
limits = st.sampled_from([None, 1, 2, 4])
places = st.one_of(
    st.tuples(st.sampled_from(["first", "last"]), st.just("")),
    st.tuples(st.sampled_from(["before", "after"]), ids),
)


class Machine(RuleBasedStateMachine):
    """One plain feed, which may be bounded, and one sorted feed."""

    url: str

    def __init__(self) -> None:
        super().__init__()
        self.twin = FeedTwin(self.url)
        self.twin.create("news", max_length=4)
        self.twin.create("line", is_sorted=True)

    def teardown(self) -> None:
        self.twin.closing.close()

    @rule()
    def lose_answers_or_not(self) -> None:
        self.twin.connection.on = not self.twin.connection.on

    @rule(found=items, touch=st.booleans())
    def publish(self, found: dict[str, Any], *, touch: bool) -> None:
        self.twin.publish("news", found, touch=touch)

    @rule(item=contents)
    def publish_without_an_id(self, item: Any) -> None:
        for name in self.twin.models:
            self.twin.publish_anew(name, item)

    @rule(name=st.sampled_from(["news", "line"]), gone=st.lists(ids, max_size=3))
    def retract(self, name: str, gone: list[str]) -> None:
        self.twin.retract(name, gone)

    @rule(max_length=limits, about=st.sampled_from([None, "about it"]))
    def configure(self, max_length: int | None, about: str | None) -> None:
        self.twin.configure("news", max_length, about)

    @rule(found=items, place=st.one_of(places, st.just(("", ""))))
    def insert(self, found: dict[str, Any], place: tuple[str, str]) -> None:
        where, reference = place
        if where != "last" and reference not in found:
            self.twin.insert("line", found, where, reference)

    @rule(moved=st.lists(ids, min_size=1, max_size=3), place=places)
    def move(self, moved: list[str], place: tuple[str, str]) -> None:
        where, reference = place
        if reference not in moved:
            self.twin.move("line", moved, where, reference)

    @rule(name=st.sampled_from(["news", "line"]))
    def delete_and_make_again(self, name: str) -> None:
        self.twin.delete(name)
        self.twin.delete(name)
        self.twin.create(name, is_sorted=name == "line", max_length=3 if name == "news" else None)


@pytest.mark.slow
@pytest.mark.timeout(300 * EFFORT)
@proves("T-13", "TD-08", "TD-09", "C-07", "TL-01", "TL-04")
def test_random_steps_match_the_models(private_url: str) -> None:
    class Here(Machine):
        url = private_url

    run_state_machine_as_test(Here, settings=examples(20, stateful_step_count=30))
