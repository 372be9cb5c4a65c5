"""The steps of the state machine and their arguments; the first number of a step is its weight."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.model.jobs.twin import WORKERS

Step = tuple[str, dict[str, Any]]

SPANS = [1, 999, 3000, 30_000, 60_000, 3_700_000, 90_000_000]

queues = st.integers(0, 2)
workers = st.sampled_from(WORKERS)
names = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3)
chosen = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True)
pushed = st.sampled_from(["a", "b", "", '"small"', f'"{"large" * 400}"'])
delays = st.sampled_from([0, 0, 1, 1500, 60_000])
priorities = st.sampled_from([-1e9, -1, 0, 0.5, 1e9])
positions = st.sampled_from(["", "front", "back"])
kinds = st.sampled_from(["io", "bug"])
texts = st.sampled_from(["small", "large"])
maybe_text = st.sampled_from(["", "small", "large"])
policies = st.sampled_from(["", "move", "replace", "reject", "duplicate"])
values = st.sampled_from(["u", "v"])
tags = st.lists(st.sampled_from(["vip", "a", "b"]), min_size=1, max_size=2, unique=True)
some_options: SearchStrategy[dict[str, Any]] = st.just({}) | st.fixed_dictionaries(
    {},
    optional={
        "priority": priorities,
        "tags": st.sampled_from([[], ["vip"], ["a", "b"]]),
        "delay": delays,
        "retries": st.sampled_from([1, 0, False]),
        "start_within": st.sampled_from([2000, 60_000, 1]),
        "result_ttl": st.sampled_from([5000, 0]),
        "unique": values,
    },
)


_arguments: dict[str, SearchStrategy[dict[str, Any]]] = {}


def step(weight: int, name: str, **arguments: SearchStrategy[Any]) -> list[str]:
    _arguments[name] = st.fixed_dictionaries(arguments)
    return [name] * weight


_weighted = (
    step(8, "put_plainly", queue=queues, count=st.integers(1, 3))
    + step(
        8,
        "put",
        queue=queues,
        names=names,
        policy=policies,
        shared=some_options,
        own=some_options,
        data=texts,
    )
    + step(1, "push", queue=queues, pushed=st.lists(pushed, min_size=1, max_size=3))
    + step(
        8,
        "pop",
        queue=queues,
        worker=workers,
        count=st.integers(1, 3),
        lease=st.sampled_from([-1, -1, -1, 1, 5000, 0]),
    )
    + step(1, "peek", queue=queues, count=st.integers(1, 3))
    # by a worker, with the token of a lease
    + step(2, "heartbeat", which=chosen, lease=st.sampled_from([-1, 0, 5000]), data=maybe_text)
    + step(1, "holds", which=chosen)
    + step(4, "complete", which=chosen, result=maybe_text, data=maybe_text)
    + step(2, "complete_to", which=chosen, data=maybe_text, queue=queues, delay=delays)
    + step(3, "fail", which=chosen, kind=kinds, retry_in=delays | st.just(-1), data=maybe_text)
    + step(2, "release", which=chosen, position=positions, delay=delays)
    # by an operator, with the id of a job
    + step(1, "finish", which=chosen, result=maybe_text)
    + step(1, "fail_by_id", which=chosen, kind=kinds)
    + step(1, "release_by_id", which=chosen, position=positions, delay=delays)
    + step(1, "cancel", which=chosen)
    + step(1, "cancel_matching", queue=queues, data=texts, only_look=st.booleans())
    + step(1, "timeout", which=chosen)
    + step(2, "retry", which=chosen, delay=delays)
    + step(2, "requeue", which=chosen, queue=st.none() | queues, delay=delays)
    + step(1, "prioritise", which=chosen, priority=priorities)
    + step(1, "result", which=st.integers(0, 4), take=st.booleans())
    # unique values, tags, tracked jobs
    + step(
        2,
        "put_unique",
        queue=queues,
        value=values,
        policy=policies | st.just("replace"),
        delay=st.none() | delays,
        tags=st.none() | tags,
        times=st.integers(1, 2),
    )
    + step(1, "tag", which=chosen, names=tags, most=st.sampled_from([32, 2]))
    + step(1, "untag", which=chosen, names=tags)
    + step(1, "track", which=chosen, most=st.sampled_from([10_000, 2]))
    + step(1, "untrack", which=chosen)
    # sessions
    + step(
        2, "start_session", worker=workers, ttl=st.sampled_from([3000, -1]), serving=st.booleans()
    )
    + step(1, "renew", worker=workers, newest=st.booleans())
    + step(1, "end_session", worker=workers, newest=st.booleans())
    + step(1, "serve", worker=workers, queue=queues)
    + step(1, "unserve", worker=workers, queue=queues)
    + step(1, "end_worker", worker=workers)
    # queues, housekeeping, time
    + step(1, "sweep")
    + step(1, "pause_or_resume", queue=queues, paused=st.booleans())
    + step(
        1,
        "keep_little",
        queue=queues,
        keep_count=st.sampled_from([1, 2, 3, 0]),
        keep_age=st.sampled_from([5000, 60_000, 0]),
    )
    + step(1, "delete_queue", queue=queues)
    + step(3, "tick", ms=st.sampled_from(SPANS))
    + step(4, "tick_to_a_border", which=st.integers(0, 3), beside=st.sampled_from([0, 0, 0, -1, 1]))
)


def one_of(names: list[str]) -> SearchStrategy[Step]:
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), _arguments[name]))


steps = one_of(_weighted)

# These weights favour steps with unique values, tags and tracked jobs, and steps that undo them.
tag_steps = one_of(
    ["put_unique"] * 8
    + ["put", "pop", "complete"] * 3
    + ["complete_to", "fail", "retry", "requeue", "tag", "untag", "track", "untrack"] * 2
    + ["fail_by_id", "finish", "release", "cancel", "result", "sweep", "keep_little"]
    + ["delete_queue", "tick", "tick_to_a_border"]
)
