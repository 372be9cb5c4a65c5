"""Short walks through what jobs that wait for jobs may come to, always the same.

The model knows what is right; here is what chance may take long to find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Put
from headrace.engine.script import source
from tests.engine.links.model import MARK, POLICIES
from tests.engine.links.pair import Pair
from tests.engine.twin import opened

G, H = MARK + "g", MARK + "h"
BY_POLICY = dict(zip("bcde", POLICIES, strict=True))


def four(pair: Pair, parent: str, **given: Any) -> None:
    """One dependent for each policy."""
    for name, policy in BY_POLICY.items():
        pair.put(name, "q", depends_on=[parent], if_fails=policy, **given)


def until_the_last_is_complete(pair: Pair) -> None:
    pair.put_all(["a", "b"], "q")
    pair.put("c", "q", depends_on=["a", "b", "f"], delay=2000)
    pair.put("d", "r", depends_on=["c"])
    pair.pop_all("q")
    pair.finish(["a"])
    pair.put("e", "r", depends_on=["a"])
    pair.tick(1000)
    pair.finish(["b"])
    pair.tick(1000)
    pair.pop_all("q")
    pair.move_on("c", "r", 0, ["e"])
    pair.move_on("c", "r", 0, None)
    pair.pop_all("r")
    pair.finish(["e", "c"])
    pair.pop_all("r")
    pair.finish(["c", "d"])


def when_it_fails(pair: Pair) -> None:
    pair.put("a", "q")
    four(pair, "a")
    pair.put("f", "r", depends_on=["e"], if_fails="fail")
    pair.fail("a")
    four(pair, "a")
    pair.retry("a")
    four(pair, "a")
    pair.pop_all("q")
    pair.finish(["a"])


def when_it_is_gone(pair: Pair) -> None:
    pair.put("a", "r", start_within=1000)
    four(pair, "a")
    pair.tick(1000)
    pair.put("a", "r")
    four(pair, "a")
    pair.put("f", "q", depends_on=["d", "e"], if_fails="run")
    pair.delete_queue("r")
    pair.put("f", "r", depends_on=["a", "f"])
    pair.put("a", "q")
    pair.put("f", "r", depends_on=["a"], start_within=1000, delay=4000)
    pair.tick(1000)


def who_may_be_cancelled(pair: Pair) -> None:
    pair.put("a", "q")
    four(pair, "a")
    pair.put("f", "r", depends_on=["b", "c"])
    pair.cancel(["a"])
    pair.cancel(["a", "b", "c", "d", "e"])
    pair.cancel(["f", "d", "a", "b", "c", "e"])
    pair.put("a", "q")
    pair.put("b", "q", depends_on=["a"])
    pair.undepend("b", ["a"])
    pair.cancel(["a"])


def down_to_the_last(pair: Pair) -> None:
    pair.put("a", "q")
    four(pair, "a")
    pair.put("f", "r", depends_on=["b", "c"], if_fails="run")
    pair.cancel(["a"], cascade=True)


def in_circles(pair: Pair) -> None:
    pair.put("a", "q", depends_on=["a"])
    pair.put("a", "q", group="g")
    pair.put("b", "q", depends_on=["a"])
    pair.put("c", "q", depends_on=["b", G])
    pair.put("a", "q", depends_on=["c"])
    pair.put("a", "q", "replace", depends_on=["b"])
    pair.depend("a", ["c"])
    pair.depend("b", ["c"])
    pair.put("d", "r", depends_on=["c"], group="g")
    pair.put("d", "r", depends_on=["c"], group="h")
    pair.put("e", "r", depends_on=[H])
    pair.depend("b", ["e"])
    pair.pop_all("q")
    pair.move_on("a", "q", 0, ["c"])
    pair.move_on("a", "q", 0, ["f"])
    pair.put_all(["f", "x"], "q", depends_on=["f"])


def members(pair: Pair) -> None:
    pair.put_all(["a", "f"], "q", group="g")
    four(pair, G)
    pair.pop_all("q")
    pair.fail("a")
    four(pair, G)
    pair.finish(["f"])
    pair.retry("a")
    pair.put("f", "r", depends_on=[G], if_fails="run", group="h")
    pair.cancel(["a"])
    pair.put("a", "q", group="h")
    pair.put("a", "q", "replace", group="g")
    pair.requeue("f", "q")
    pair.pop_all("q")
    pair.finish(["f", "a"])
    pair.requeue("f", "q")


def given_and_taken(pair: Pair) -> None:
    pair.put_all(["a", "b"], "q")
    pair.put("c", "q", delay=2000)
    pair.depend("c", ["a", "f"])
    pair.depend("c", ["b"])
    pair.depend("f", ["a"])
    pair.undepend("c", ["a", "e"])
    pair.put("c", "r", "replace", if_fails="cancel")
    pair.put("c", "r", "replace", depends_on=["a"])
    pair.put("c", "r", "replace", depends_on=["f"])
    pair.depend("c", ["a"])
    pair.undepend("c", None)
    pair.undepend("c", None)
    pair.pop_all("q")
    pair.depend("a", ["b"])
    pair.tick(2000)
    pair.depend("c", ["a"])
    pair.fail("c")
    pair.depend("c", ["b"])
    pair.requeue("c", "q")
    pair.put("c", "q", depends_on=["a"])
    pair.put("c", "r", depends_on=["b"])
    pair.requeue("c", "q")


WALKS: list[Callable[[Pair], None]] = [
    until_the_last_is_complete,
    when_it_fails,
    when_it_is_gone,
    who_may_be_cancelled,
    down_to_the_last,
    in_circles,
    members,
    given_and_taken,
]


def smallest_steps(swaps: dict[str, str]) -> dict[str, str]:
    """The same scripts, but only one dependent is seen to in each."""
    text = swaps.get("update_dependents", source("lib/update_dependents").text)
    changed = text.replace("FOLLOW_AT_MOST = 256", "FOLLOW_AT_MOST = 1")
    assert changed != text
    return {**swaps, "update_dependents": changed}


def walk(url: str, way: Callable[[Pair], None], swaps: dict[str, str], *, slow: bool) -> None:
    pair = Pair(url, smallest_steps(swaps) if slow else swaps, slow=slow)
    with pair.hr:
        way(pair)
        pair.leave_nothing()


def in_their_order(url: str, swaps: dict[str, str]) -> None:
    """Raises unless jobs are unlocked in the order of their puts, and told."""
    client, _ = opened(url, swaps)
    with client:
        mail = client.queue("mail")
        mail.put(0, id="a")
        names = ["z", "y", "x", "w"]
        mail.put_many([Put(0, id=name, depends_on=["a"]) for name in names])
        [lease] = mail.pop("w")
        mail.put(0, id="between")
        lease.complete()
        assert [job.id for job in mail.peek(9)] == ["between", *names]
        client.depend("between", on=["z"])
        kinds = [(event.kind, event.job_id) for event in client.events()]
        assert kinds[-6:] == [
            ("completed", "a"),
            *(("unlocked", name) for name in names),
            ("blocked", "between"),
        ]


def without_a_detour(url: str, swaps: dict[str, str]) -> None:
    """Raises unless what counts as done at the put blocks nobody for a moment."""
    client, _ = opened(url, swaps)
    with client:
        mail, group = client.queue("mail"), client.group("g")
        group.put("mail", 0, id="a")
        client.fail("a", "io")
        mail.put(0, depends_on=["a"], if_dependency_fails="run")
        group.then("mail", 0, if_dependency_fails="run")
        assert [event.kind for event in client.events()] == ["put", "failed", "put", "put"]


def not_in_the_wake_of_another(url: str, swaps: dict[str, str]) -> None:
    """Raises unless only what a cascade cancels takes its dependents along."""
    client, clock = opened(url, swaps)
    with client:
        mail = client.queue("mail")
        mail.put(0, id="late", start_within=5)
        mail.put(0, id="x", depends_on=["late"])
        mail.put(0, id="other")
        clock.tick(5)
        client.cancel("other", cascade=True)
        assert [job.state for job in client.jobs(["late", "x"])] == ["failed"]


def not_those_of_another(url: str, swaps: dict[str, str]) -> None:
    """Raises unless what is still to be unlocked is told from new dependents of the same id."""
    client, _ = opened(url, smallest_steps(swaps))
    with client:
        mail = client.queue("mail")
        mail.configure(keep_count=0)
        for number in range(2):
            mail.put(0, id="a")
            mail.put_many(
                [Put(0, id=f"{number}{name}", depends_on=["a"]) for name in "xyz"],
                if_dependency_fails="run",
            )
            client.core.wire.send([(0, ("DEL", client.core.key(0, "agenda")))])
            client.fail("a", "io")
            client.core.wire.send([(0, ("DEL", client.core.key(0, "agenda")))])
        assert client.audit().problems == []
        client.cancel("1z", cascade=True)
        mail.put(0, id="1z", depends_on=["a"], if_dependency_fails="wait")
        client.fail("a", "bug")
        name = "unlock:failed:run:a"
        client.core.wire.send([(0, ("ZADD", client.core.key(0, "agenda"), 1, name))])
        client.sweep()
        states = {
            job.id: job.state for job in client.jobs([f"{n}{x}" for n in "01" for x in "xyz"])
        }
        assert states.pop("1z") == "blocked"
        assert set(states.values()) == {"waiting"}, states
        assert client.audit().problems == []


CHECKS = [
    in_their_order,
    without_a_detour,
    not_in_the_wake_of_another,
    not_those_of_another,
]
