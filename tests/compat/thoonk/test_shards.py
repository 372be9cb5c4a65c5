"""Feeds on several shards."""

from __future__ import annotations

from typing import Any

from headrace.compat.thoonk import Thoonk
from headrace.testing import open_with_clock
from tests.proof import proves


@proves("T-03", "TD-11")
def test_feeds_work_the_same_on_several_shards(url: str) -> None:
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
