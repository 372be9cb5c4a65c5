"""Qless on several shards, and random sequences of calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from headrace.compat.qless import Qless
from headrace.testing import START, open_with_clock
from tests.proof import proves

NOW = START.timestamp()


@proves("Q-01", "QD-16")
def test_every_method_works_on_several_shards(url: str) -> None:
    client, clock = open_with_clock(url, shards=3)
    with client:
        qless = Qless(client, "w1")
        queue = qless.queues["testing"]
        ids = [queue.put(number, tags=["t"]) for number in range(9)]
        clock.tick(1)
        popped = queue.pop(9)
        assert sorted(job.id for job in popped) == sorted(ids)
        assert sorted(qless.workers["w1"]["jobs"]) == sorted(ids)
        for job in popped[:3]:
            assert job.complete() == "complete"
        for job in popped[3:6]:
            assert job.fail("kind", "why") == job.id
        assert popped[6].retry() == 4

        assert qless.failed() == {"kind": 3}
        assert qless.failed("kind")["total"] == 3
        assert qless.unfail("other", "kind") == 3
        assert qless.jobs.tagged("t")["total"] == 9
        assert queue.counts()["running"] == len(queue.jobs("running")) == 2
        assert queue.stats()["wait"]["mean"] == 1
        assert client.audit().balanced
        namespace = client.core.namespace
        [keys] = client.core.transport.send([(0, ("KEYS", f"*{namespace}*"))])
        tags = {key.decode().partition("}")[0] for key in keys}
        assert tags == {f"hr:{{{namespace}:{shard}" for shard in range(3)}


@proves("QD-09")
def test_equal_priorities_keep_their_order_at_any_size(url: str) -> None:
    client, _ = open_with_clock(url)
    with client:
        queue = Qless(client).queues["testing"]
        names = [f"{number:02}" for number in range(20)]
        random.Random(1).shuffle(names)
        for name in names:
            queue.put(1, 10**9, id=name)

        assert [job.id for job in queue.pop(20)] == names


@pytest.mark.parametrize("seed", range(2))
def test_books_balance_after_any_sequence_of_calls(url: str, seed: int) -> None:
    chance = random.Random(seed)
    client, clock = open_with_clock(url)
    with client:
        qless = Qless(client, "w1")
        queues = [qless.queues[name] for name in ("a", "b")]

        def name() -> str:
            return str(chance.randrange(8))

        def end() -> None:
            for job in chance.choice(queues).pop(2):
                ways: list[Callable[[], object]] = [
                    job.complete,
                    partial(job.complete, "b", chance.choice([0, 5])),
                    partial(job.fail, "kind", "why"),
                    job.retry,
                    job.timeout,
                    job.heartbeat,
                ]
                chance.choice(ways)()

        words: list[Callable[[], object]] = [
            lambda: chance.choice(queues).put(1, chance.randrange(3), id=name()),
            lambda: chance.choice(queues).put(1, delay=5, id=name()),
            end,
            end,
            lambda: qless.cancel(name()),
            lambda: qless.fail(name(), "kind", "why", NOW),
            lambda: qless.unfail("a", "kind"),
            lambda: qless.requeue("b", name()),
            lambda: qless.timeout(name()),
            lambda: clock.tick(chance.choice([1, 61])),
        ]
        for _ in range(150):
            chance.choice(words)()

        assert client.audit().problems == []
