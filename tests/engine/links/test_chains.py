"""chain: one step puts jobs, each of which depends on the previous job."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, Limits, Put
from headrace.testing import open_with_clock
from tests.engine.links.test_put import states
from tests.proof import proves
from tests.support.channels import commands
from tests.support.dump import dump
from tests.support.jobs import found, pop_one


@proves("QL-11")
def test_each_step_waits_for_the_one_before(hr: Client) -> None:
    steps = ["fetch", "parse", "store"]

    names = hr.chain([(step, {"do": step}) for step in steps])

    for step, name in zip(steps, names, strict=True):
        lease = pop_one(hr.queue(step))
        assert (lease.id, lease.data) == (name, {"do": step})
        after = names[names.index(name) + 1 :]
        assert states(hr, *after) == ["blocked"] * len(after)
        lease.complete()
    assert states(hr, *names) == ["complete"] * 3
    assert hr.audit().problems == []


@proves("QL-11")
def test_a_chain_is_one_call(hr: Client, url: str) -> None:
    hr.chain([("warm", 0), ("up", 0)])
    with commands(url) as sent:
        hr.chain([("a", 0), ("b", 0), ("c", 0)])
    assert [command.split()[0] for command in sent] == ["FCALL"]


@proves("QL-11")
def test_a_step_may_have_an_id_and_options(hr: Client) -> None:
    hr.queue("other").put(0, id="o")
    names = hr.chain(
        [("a", Put(0, id="first", delay=5)), ("b", Put(1, priority=3, depends_on=["o"]))]
    )

    assert names[0] == "first"
    assert (found(hr, "first").state, found(hr, names[1]).priority) == ("scheduled", 3)
    assert sorted(found(hr, names[1]).depends_on) == ["first", "o"]


@proves("QL-11")
@pytest.mark.parametrize(
    ("policy", "after"), [("wait", ["blocked", "blocked"]), ("cancel", ["gone", "gone"])]
)
def test_if_dependency_fails_applies_to_all_jobs_of_a_chain(
    hr: Client, policy: str, after: list[str]
) -> None:
    _, *names = hr.chain([("a", 0), ("b", 0), ("c", 0)], if_dependency_fails=policy)

    pop_one(hr.queue("a")).fail("io")

    assert states(hr, *names) == after


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "1 to 3 steps, not 0"),
        ([("a", 0)] * 4, "1 to 3 steps, not 4"),
        (["a"], "pair such as"),
        ([("a", 0, 1)], "pair such as"),
        ([("", 0)], "queue must not be empty"),
        ([("a", Put(0, id="x")), ("b", Put(0, id="x"))], "would depend on itself"),
        ("abc", "must be a list"),
    ],
)
def test_a_chain_is_checked_before_anything_is_put(url: str, steps: Any, message: str) -> None:
    client, _ = open_with_clock(url, limits=Limits(batch=3))
    with client:
        before = dump(client)
        with pytest.raises(InvalidArgument, match=message):
            client.chain(steps)
        with pytest.raises(InvalidArgument, match="if_dependency_fails must be"):
            client.chain([("a", 0)], if_dependency_fails="perhaps")
        assert dump(client) == before
