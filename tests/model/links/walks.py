"""Short walks through dependencies and groups, always the same.

They cover cases that random steps rarely reach. The model has the expected values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Client, Put
from tests.model.harness import Check, Swaps, named, opened
from tests.model.links.model import MARK, POLICIES
from tests.model.links.twin import LinkTwin, smallest_steps

G, H = MARK + "g", MARK + "h"
BY_POLICY = dict(zip("bcde", POLICIES, strict=True))


def four(twin: LinkTwin, parent: str, **given: Any) -> None:
    """Put one dependent for each policy."""
    for name, policy in BY_POLICY.items():
        twin.put(name, "q", depends_on=[parent], if_fails=policy, **given)


def until_the_last_is_complete(twin: LinkTwin) -> None:
    twin.put_all(["a", "b"], "q")
    twin.put("c", "q", depends_on=["a", "b", "f"], delay=2000)
    twin.put("d", "r", depends_on=["c"])
    twin.pop_all("q")
    twin.finish(["a"])
    twin.put("e", "r", depends_on=["a"])
    twin.tick(1000)
    twin.finish(["b"])
    twin.tick(1000)
    twin.pop_all("q")
    twin.move_on("c", "r", 0, ["e"])
    twin.move_on("c", "r", 0, None)
    twin.pop_all("r")
    twin.finish(["e", "c"])
    twin.pop_all("r")
    twin.finish(["c", "d"])


def when_it_fails(twin: LinkTwin) -> None:
    twin.put("a", "q")
    four(twin, "a")
    twin.put("f", "r", depends_on=["e"], if_fails="fail")
    twin.fail("a")
    four(twin, "a")
    twin.retry("a")
    four(twin, "a")
    twin.pop_all("q")
    twin.finish(["a"])


def when_it_is_gone(twin: LinkTwin) -> None:
    twin.put("a", "r", start_within=1000)
    four(twin, "a")
    twin.tick(1000)
    twin.put("a", "r")
    four(twin, "a")
    twin.put("f", "q", depends_on=["d", "e"], if_fails="run")
    twin.delete_queue("r")
    twin.put("f", "r", depends_on=["a", "f"])
    twin.put("a", "q")
    twin.put("f", "r", depends_on=["a"], start_within=1000, delay=4000)
    twin.tick(1000)


def who_may_be_cancelled(twin: LinkTwin) -> None:
    twin.put("a", "q")
    four(twin, "a")
    twin.put("f", "r", depends_on=["b", "c"])
    twin.cancel(["a"])
    twin.cancel(["a", "b", "c", "d", "e"])
    twin.cancel(["f", "d", "a", "b", "c", "e"])
    twin.put("a", "q")
    twin.put("b", "q", depends_on=["a"])
    twin.undepend("b", ["a"])
    twin.cancel(["a"])


def down_to_the_last(twin: LinkTwin) -> None:
    twin.put("a", "q")
    four(twin, "a")
    twin.put("f", "r", depends_on=["b", "c"], if_fails="run")
    twin.cancel(["a"], cascade=True)


def in_circles(twin: LinkTwin) -> None:
    twin.put("a", "q", depends_on=["a"])
    twin.put("a", "q", group="g")
    twin.put("b", "q", depends_on=["a"])
    twin.put("c", "q", depends_on=["b", G])
    twin.put("a", "q", depends_on=["c"])
    twin.put("a", "q", "replace", depends_on=["b"])
    twin.depend("a", ["c"])
    twin.depend("b", ["c"])
    twin.put("d", "r", depends_on=["c"], group="g")
    twin.put("d", "r", depends_on=["c"], group="h")
    twin.put("e", "r", depends_on=[H])
    twin.depend("b", ["e"])
    twin.pop_all("q")
    twin.move_on("a", "q", 0, ["c"])
    twin.move_on("a", "q", 0, ["f"])
    twin.put_all(["f", "x"], "q", depends_on=["f"])


def members(twin: LinkTwin) -> None:
    twin.put_all(["a", "f"], "q", group="g")
    four(twin, G)
    twin.pop_all("q")
    twin.fail("a")
    four(twin, G)
    twin.finish(["f"])
    twin.retry("a")
    twin.put("f", "r", depends_on=[G], if_fails="run", group="h")
    twin.cancel(["a"])
    twin.put("a", "q", group="h")
    twin.put("a", "q", "replace", group="g")
    twin.requeue("f", "q")
    twin.pop_all("q")
    twin.finish(["f", "a"])
    twin.requeue("f", "q")


def given_and_taken(twin: LinkTwin) -> None:
    twin.put_all(["a", "b"], "q")
    twin.put("c", "q", delay=2000)
    twin.depend("c", ["a", "f"])
    twin.depend("c", ["b"])
    twin.depend("f", ["a"])
    twin.undepend("c", ["a", "e"])
    twin.put("c", "r", "replace", if_fails="cancel")
    twin.put("c", "r", "replace", depends_on=["a"])
    twin.put("c", "r", "replace", depends_on=["f"])
    twin.depend("c", ["a"])
    twin.undepend("c", None)
    twin.undepend("c", None)
    twin.pop_all("q")
    twin.depend("a", ["b"])
    twin.tick(2000)
    twin.depend("c", ["a"])
    twin.fail("c")
    twin.depend("c", ["b"])
    twin.requeue("c", "q")
    twin.put("c", "q", depends_on=["a"])
    twin.put("c", "r", depends_on=["b"])
    twin.requeue("c", "q")


WALKS: list[Callable[[LinkTwin], None]] = [
    until_the_last_is_complete,
    when_it_fails,
    when_it_is_gone,
    who_may_be_cancelled,
    down_to_the_last,
    in_circles,
    members,
    given_and_taken,
]


def walk(steps: Callable[[LinkTwin], None], *, slow: bool = False) -> Check:
    """Return a check that takes the steps on a namespace of its own and leaves nothing behind."""

    def run(url: str, swaps: Swaps) -> None:
        with LinkTwin(url, swaps, slow=slow) as twin:
            steps(twin)
            twin.leave_nothing()

    return named(steps.__name__ + (" in the smallest steps" if slow else ""), run)


def in_their_order(url: str, swaps: Swaps) -> None:
    """Raise unless jobs are unlocked in the order of their puts, with an event each."""
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
        client.dependencies.add("between", on=["z"])
        kinds = [(event.kind, event.job_id) for event in client.events()]
        assert kinds[-6:] == [
            ("completed", "a"),
            *(("unlocked", name) for name in names),
            ("blocked", "between"),
        ]


def without_a_detour(url: str, swaps: Swaps) -> None:
    """Raise unless a dependency that is already satisfied at the put never blocks the job."""
    client, _ = opened(url, swaps)
    with client:
        mail, group = client.queue("mail"), client.group("g")
        group.put("mail", 0, id="a")
        client.fail("a", "io")
        mail.put(0, depends_on=["a"], if_dependency_fails="run")
        group.then("mail", 0, if_dependency_fails="run")
        assert [event.kind for event in client.events()] == ["put", "failed", "put", "put"]


def not_in_the_wake_of_another(url: str, swaps: Swaps) -> None:
    """Raise unless a cascade cancels only the dependents of the jobs that it cancels."""
    client, clock = opened(url, swaps)
    with client:
        mail = client.queue("mail")
        mail.put(0, id="late", start_within=5)
        mail.put(0, id="x", depends_on=["late"])
        mail.put(0, id="other")
        clock.tick(5)
        client.cancel("other", cascade=True)
        assert [job.state for job in client.jobs(["late", "x"])] == ["failed"]


def remove_pending_unlocks(client: Client) -> None:
    """Remove the tasks that unlock dependents from the agenda."""
    agenda = client.core.key(0, "agenda")
    [tasks] = client.core.transport.send([(0, ("ZRANGE", agenda, 0, -1))])
    unlocks = [task for task in tasks if task.startswith(b"unlock:")]
    if unlocks:
        client.core.transport.send([(0, ("ZREM", agenda, *unlocks))])


def not_those_of_another(url: str, swaps: Swaps) -> None:
    """Raise unless pending unlocks are distinguished from new dependents of the same id."""
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
            remove_pending_unlocks(client)
            client.fail("a", "io")
            remove_pending_unlocks(client)
        assert client.audit().problems == []
        client.cancel("1z", cascade=True)
        mail.put(0, id="1z", depends_on=["a"], if_dependency_fails="wait")
        client.fail("a", "bug")
        name = "unlock:failed:run:a"
        client.core.transport.send([(0, ("ZADD", client.core.key(0, "agenda"), 1, name))])
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
