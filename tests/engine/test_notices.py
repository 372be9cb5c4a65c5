"""Notices: new work wakes a worker; lost leases and finished jobs are reported to their clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, HeadraceError, Lease, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import commands, listening
from tests.support.jobs import pop_one
from tests.support.sessions import serving


@dataclass
class Scene:
    """A worker with a session that holds one job of a queue and has failed another job."""

    hr: Client
    queue: Queue
    clock: Clock
    held: Lease
    failed: str
    session: Any

    @property
    def other(self) -> Queue:
        return self.hr.queue("other")


@pytest.fixture
def scene(hr: Client, queue: Queue, clock: Clock) -> Scene:
    session = serving(hr, "w1", queue)
    queue.put("failed")
    failed = pop_one(queue)
    failed.fail("no ink")
    queue.put("held", id="held")
    return Scene(hr, queue, clock, pop_one(queue, lease=100), failed.id, session)


Act = Callable[[Scene], object]


def due(scene: Scene, look: Callable[[], object]) -> None:
    scene.queue.put_many([1, 2], delay=1)
    scene.clock.tick(1)
    look()


def replace(scene: Scene) -> None:
    scene.queue.put("x", id="a", delay=5)
    scene.queue.put("y", id="a", delay=0, on_exists="replace")


def move_on(scene: Scene) -> None:
    scene.other.put("x")
    pop_one(scene.other).complete(next="mail")


def lapse(scene: Scene) -> None:
    scene.clock.tick(3)
    scene.other.pop("peer")


WAKING: dict[str, tuple[int, Act]] = {
    "put": (1, lambda scene: scene.queue.put("x")),
    "put many": (3, lambda scene: scene.queue.put_many([1, 2, 3])),
    "put again": (1, lambda scene: scene.queue.put("x", id="held")),
    "replacement of a scheduled job": (1, replace),
    "due, seen by a peek": (2, lambda scene: due(scene, scene.queue.peek)),
    "due, seen by a sweep": (2, lambda scene: due(scene, scene.hr.sweep)),
    "due, and one of two jobs popped": (1, lambda scene: due(scene, lambda: scene.queue.pop("w2"))),
    "release": (1, lambda scene: scene.held.release()),
    "release by id": (1, lambda scene: scene.hr.release("held")),
    "fail with a retry": (1, lambda scene: scene.held.fail("no ink", retry_in=0)),
    "retry": (1, lambda scene: scene.hr.retry(scene.failed)),
    "requeue": (1, lambda scene: scene.hr.requeue("held")),
    "complete with a next queue": (1, move_on),
    "timeout": (1, lambda scene: scene.hr.timeout("held")),
    "unserve": (1, lambda scene: scene.session.unserve("mail")),
    "end of the session": (1, lambda scene: scene.session.end()),
    "end of the session by an operator": (1, lambda scene: scene.hr.workers.end("w1")),
    "start of the next session": (1, lambda scene: scene.hr.session("w1")),
    "expiry of the session": (1, lapse),
}


@proves("W-07", "W-46", "WD-11")
@pytest.mark.parametrize("transition", WAKING)
def test_every_way_to_become_waiting_wakes_a_worker(
    scene: Scene, url: str, transition: str
) -> None:
    jobs, act = WAKING[transition]
    with listening(scene.hr, url, "queue:mail") as workers:
        act(scene)

        assert [word for word in workers.messages() if word != "coming"] == [f"work {jobs}"]


@proves("WD-11")
def test_resumed_queue_wakes_a_worker(scene: Scene, url: str) -> None:
    scene.queue.pause()
    scene.queue.put("x")
    with listening(scene.hr, url, "queue:mail") as workers:
        scene.queue.resume()

        assert workers.messages() == ["work 1"]


def test_other_operations_wake_no_worker(scene: Scene, url: str) -> None:
    scene.queue.put_many([1, 2, 3])
    with listening(scene.hr, url, "queue:mail") as workers:
        scene.queue.put("later", delay=5)
        first, second, third = scene.queue.pop("w1", count=3)
        first.heartbeat()
        first.complete()
        second.fail("no ink")
        third.fail("no ink", retry_in=5)
        scene.held.release(delay=5)
        scene.queue.pause()
        scene.hr.sweep()

        assert set(workers.messages()) == {"coming"}


def test_earlier_due_time_is_published(scene: Scene, url: str) -> None:
    with listening(scene.hr, url, "queue:mail") as workers:
        scene.queue.put("first", delay=50)
        assert workers.messages() == ["coming"]
        scene.queue.put_many([1, 2], delay=60)
        assert workers.messages() == []
        scene.queue.put("at", at=scene.clock.now + timedelta(seconds=40))
        assert workers.messages() == ["coming"]
        scene.held.fail("no ink", retry_in=30)
        assert workers.messages() == ["coming"]
        scene.hr.retry(scene.failed, delay=20)
        assert workers.messages() == ["coming"]


def late(scene: Scene) -> None:
    for _ in range(50):
        scene.clock.tick(2)
        scene.session.renew()
    scene.queue.pop("w2")


LOSING: dict[str, tuple[str, Act]] = {
    "cancel": ("cancelled", lambda scene: scene.hr.cancel("held")),
    "deletion of the queue": ("cancelled", lambda scene: scene.queue.delete()),
    "finish by id": ("lost", lambda scene: scene.hr.finish("held")),
    "fail by id": ("lost", lambda scene: scene.hr.fail("held", "stalled")),
    "release by id": ("lost", lambda scene: scene.hr.release("held")),
    "timeout": ("lost", lambda scene: scene.hr.timeout("held")),
    "requeue": ("lost", lambda scene: scene.hr.requeue("held", "other")),
    "put again": ("lost", lambda scene: scene.other.put("x", id="held")),
    "end of the lease": ("lost", late),
    "unserve": ("lost", lambda scene: scene.session.unserve("mail")),
    "end of the session": ("lost", lambda scene: scene.session.end()),
    "end of the session by an operator": ("lost", lambda scene: scene.hr.workers.end("w1")),
    "start of the next session": ("lost", lambda scene: scene.hr.session("w1")),
    "expiry of the session": ("lost", lapse),
}


@proves("W-46")
@pytest.mark.parametrize("transition", LOSING)
def test_worker_that_loses_a_job_is_notified(scene: Scene, url: str, transition: str) -> None:
    what, act = LOSING[transition]
    with listening(scene.hr, url, "worker:w1") as holder:
        act(scene)

        assert holder.told() == [[what, "held", scene.held.token]]


@pytest.mark.parametrize("act", ["complete", "release", "heartbeat", "fail"])
def test_worker_that_returns_a_job_is_not_notified(scene: Scene, url: str, act: str) -> None:
    with listening(scene.hr, url, "worker:w1") as holder:
        getattr(scene.held, act)(*(["no ink"] if act == "fail" else []))

        assert holder.told() == []


def expire(scene: Scene) -> None:
    scene.queue.put("x", id="old", start_within=1)
    scene.clock.tick(1)
    scene.hr.sweep()


ENDING: dict[str, tuple[list[str], Act]] = {
    "complete": (["held"], lambda scene: scene.held.complete("result")),
    "finish by id": (["held"], lambda scene: scene.hr.finish("held")),
    "fail": (["held"], lambda scene: scene.held.fail("no ink")),
    "cancel": (["held"], lambda scene: scene.hr.cancel("held")),
    "not started in time": (["old"], expire),
    "move on": ([], lambda scene: scene.held.complete(next="other")),
    "release": ([], lambda scene: scene.held.release()),
}


@pytest.mark.parametrize("transition", ENDING)
def test_finished_job_notifies_waiting_clients(scene: Scene, url: str, transition: str) -> None:
    ended, act = ENDING[transition]
    with listening(scene.hr, url, "ended:") as waiting:
        act(scene)

        assert waiting.told() == ([ended] if ended else [])


def test_several_finished_jobs_are_notified_in_one_message(scene: Scene, url: str) -> None:
    put = scene.queue.put_many(range(100))
    leases = scene.queue.pop("w1", count=100)
    with listening(scene.hr, url, "ended:") as waiting:
        scene.hr.leases.complete(leases)

        assert waiting.told() == [put]


def test_refused_operation_publishes_nothing(scene: Scene, url: str) -> None:
    lost = scene.held
    scene.hr.release("held", delay=5)
    channels = ("queue:mail", "worker:w1", "ended:")
    refused = (lost.complete, lost.release, lambda: scene.hr.finish("held"), scene.other.delete)
    with listening(scene.hr, url, *channels) as everybody:
        for act in refused:
            with pytest.raises(HeadraceError):
                act()
        scene.hr.cancel("bogus")
        scene.hr.retry("held")

        assert everybody.heard() == []


@proves("WD-07", "W-46")
def test_channels_are_named_as_keys_are_and_sharded(scene: Scene, url: str) -> None:
    with commands(url, of_scripts=True) as carried_out:
        scene.hr.release("held")
        scene.hr.cancel("held")

    told = [line.split()[1] for line in carried_out if line.split()[0].upper() == "SPUBLISH"]
    prefix = f"hr:{{{scene.hr.core.namespace}:0}}:"
    assert sorted(told) == [f"{prefix}ended:", f"{prefix}queue:mail", f"{prefix}worker:w1"]
    assert not [line for line in carried_out if line.split()[0].upper() == "PUBLISH"]
