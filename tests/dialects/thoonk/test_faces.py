"""Both colours say the same things; several shards make no difference."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from headrace.compat.thoonk import (
    AsyncJob,
    AsyncLeaf,
    AsyncQueue,
    AsyncSortedFeed,
    AsyncThoonk,
    Job,
    Leaf,
    Queue,
    SortedFeed,
    Thoonk,
)
from headrace.testing import open_with_clock
from tests.proof import proves

PAIRS: list[tuple[type, type]] = [
    (Job, AsyncJob),
    (Leaf, AsyncLeaf),
    (Queue, AsyncQueue),
    (SortedFeed, AsyncSortedFeed),
    (Thoonk, AsyncThoonk),
]


def signatures(kind: type) -> dict[str, str]:
    return {
        name: str(inspect.signature(method)).replace("Async", "")
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "open"
    }


@pytest.mark.parametrize(("blocking", "awaiting"), PAIRS)
def test_both_colours_have_the_same_names_and_signatures(blocking: type, awaiting: type) -> None:
    assert signatures(blocking) == signatures(awaiting)


@proves("T-03", "TD-11")
def test_feeds_are_the_same_on_several_shards(url: str) -> None:
    client, _ = open_with_clock(url, shards=3)
    with client:
        thoonk = Thoonk(client)
        steps: Any = thoonk.create_feed("steps", {"type": "job"})
        put = {steps.put(number) for number in range(12)}
        claimed = [steps.get(1) for _ in range(12)]
        assert {one.id for one in claimed} == put
        for one in claimed[:4]:
            steps.cancel(one.id)
        for one in claimed[4:8]:
            steps.stall(one.id)
        steps.finish(claimed[8].id, "result")
        assert steps.get_result(claimed[8].id, 1) == (claimed[8].item, "result")
        assert set(steps.get_ids()) == put - {claimed[8].id}
        assert len(steps.get_stalled()) == 4
        assert client.audit().balanced
        for name in "abc":
            thoonk.leaf(name).publish("item", "x")

        thoonk.delete_feed("steps")

        assert thoonk.get_feeds() == {"a", "b", "c"}
        assert client.queues() == {}
