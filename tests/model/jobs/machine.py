"""The state machine: every operation that changes something, in any order, with any arguments.

The machine has only one rule. If a machine has many rules, Hypothesis leaves out most of them in
an example, and an example without pop would test little.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.model.harness import GENERAL_PATH
from tests.model.jobs.steps import Step, steps
from tests.model.jobs.twin import WORKERS, JobTwin

T = TypeVar("T")

NOBODY = ("nobody", "1.none")
DATA = {"": None, "small": '"small"', "large": f'"{"large" * 400}"'}


class Machine(RuleBasedStateMachine):
    """Three queues, each named after its profile, two workers, a few jobs."""

    def __init__(self, url: str, profiles: tuple[str, str, str]) -> None:
        super().__init__()
        self.url = url
        self.queues = profiles
        self.tokens: dict[str, list[str]] = {worker: ["none"] for worker in WORKERS}

    @initialize(
        swaps=st.sampled_from([{}, {}, GENERAL_PATH]),
        lossy=st.sampled_from([False, False, False, True]),
        history=st.sampled_from([100, 2, 1]),
    )
    def open(self, *, swaps: dict[str, str], lossy: bool, history: int) -> None:
        self.twin = JobTwin(self.url, swaps)
        self.twin.answers_get_lost = lossy
        for number, profile in enumerate(self.queues):
            self.twin.configure(profile, profile)
            self.put_plainly(number, 1)
        self.twin.configure("job", history=history)

    @rule(step=steps)
    def do(self, step: Step) -> None:
        name, arguments = step
        getattr(self, name)(**arguments)

    @invariant()
    def alike(self) -> None:
        self.twin.view.check()

    def teardown(self) -> None:
        with self.twin:
            self.twin.view.check()
            self.twin.view.check_days()
            self.twin.leave_nothing()

    # selection

    def leased(self, which: list[int]) -> list[tuple[str, str]]:
        """Return the newest valid leases, then lost leases; pop jobs if no lease is valid."""
        running = {job.token for job in self.twin.model.jobs.values() if job.state == "running"}
        if not running:
            any(self.twin.pop(queue, WORKERS[0], count=2) for queue in self.queues)
            running = {token for _, token in self.twin.leases[-2:]}
        newest_first = self.twin.leases[::-1]
        held = [lease for lease in newest_first if lease[1] in running]
        lost = [lease for lease in newest_first if lease[1] not in running]
        return picked(held + lost, which) or [NOBODY]

    def jobs(self, which: list[int], state: str) -> list[tuple[str]]:
        """Return the jobs in this state, then all others."""
        jobs = sorted(self.twin.model.jobs.values(), key=lambda job: job.state != state)
        return picked([(job.id,) for job in jobs], which) or [NOBODY[:1]]

    # producers

    def put_plainly(self, queue: int, count: int) -> None:
        rows: list[Any] = [(self.twin.new("plain"), "", '""', {}) for _ in range(count)]
        self.twin.both("put", rows, queue=self.queues[queue], on_exists="", options={})

    def put(
        self,
        *,
        queue: int,
        names: list[str],
        policy: str,
        shared: dict[str, Any],
        own: dict[str, Any],
        data: str,
    ) -> None:
        rows = [
            (name, self.twin.new(f"{{{name}}}~"), DATA[data], own if number else {})
            for number, name in enumerate(names)
        ]
        self.twin.both("put", rows, queue=self.queues[queue], on_exists=policy, options=shared)

    def push(self, queue: int, pushed: list[str]) -> None:
        self.twin.push(self.queues[queue], *pushed)

    # workers

    def pop(self, queue: int, worker: str, count: int, lease: int) -> None:
        self.twin.pop(self.queues[queue], worker, count, lease)

    def peek(self, queue: int, count: int) -> None:
        self.twin.peek(self.queues[queue], count)

    def heartbeat(self, which: list[int], lease: int, data: str) -> None:
        rows = [(*each, DATA[data]) for each in self.leased(which)]
        self.twin.both("heartbeat", rows, lease=lease)

    def holds(self, which: list[int]) -> None:
        self.twin.both("check_leases", self.leased(which))

    def complete(self, which: list[int], result: str, data: str) -> None:
        rows = [(*each, DATA[result], DATA[data]) for each in self.leased(which)]
        self.twin.both("complete", rows, next_queue=None, delay=0)

    def complete_to(self, which: list[int], data: str, queue: int, delay: int) -> None:
        rows = [(*each, None, DATA[data]) for each in self.leased(which)]
        self.twin.both("complete", rows, next_queue=self.queues[queue], delay=delay)

    def fail(self, which: list[int], kind: str, retry_in: int, data: str) -> None:
        rows = [(*each, kind, "why", "where", retry_in, DATA[data]) for each in self.leased(which)]
        self.twin.both("fail", rows)

    def release(self, which: list[int], position: str, delay: int) -> None:
        rows = self.leased(which)
        self.twin.both("release", rows, position=position, delay=delay, reason="worker")

    # operators

    def finish(self, which: list[int], result: str) -> None:
        rows = [(*each, "", DATA[result], None) for each in self.jobs(which, "running")]
        self.twin.both("complete", rows, next_queue=None, delay=0)

    def fail_by_id(self, which: list[int], kind: str) -> None:
        rows = [(*each, "", kind, "why", None, -1, None) for each in self.jobs(which, "running")]
        self.twin.both("fail", rows)

    def release_by_id(self, which: list[int], position: str, delay: int) -> None:
        rows = [(*each, "") for each in self.jobs(which, "running")]
        self.twin.both("release", rows, position=position, delay=delay, reason="operator")

    def cancel(self, which: list[int]) -> None:
        self.twin.both("cancel", self.jobs(which, "running"))

    def cancel_matching(self, *, queue: int, data: str, only_look: bool) -> None:
        op = "find_matching" if only_look else "cancel_matching"
        self.twin.both(op, queue=self.queues[queue], data=DATA[data], at_most=1000, cursor=None)

    def timeout(self, which: list[int]) -> None:
        self.twin.both("timeout", self.jobs(which, "running"))

    def retry(self, which: list[int], delay: int) -> None:
        self.twin.both("retry", self.jobs(which, "failed"), delay=delay)

    def requeue(self, which: list[int], queue: int | None, delay: int) -> None:
        name = "" if queue is None else self.queues[queue]
        self.twin.both("requeue", self.jobs(which, "complete"), queue=name, delay=delay)

    def prioritise(self, which: list[int], priority: float) -> None:
        self.twin.both("prioritise", self.jobs(which, "waiting"), priority=priority)

    def result(self, *, which: int, take: bool) -> None:
        [(job_id,)] = self.jobs([which], "complete")
        self.twin.both("take_result" if take else "result", id=job_id)

    # unique values, tags, tracked jobs

    def put_unique(
        self,
        *,
        queue: int,
        value: str,
        policy: str,
        delay: int | None,
        tags: list[str] | None,
        times: int,
    ) -> None:
        """Put one or two jobs of the same value without ids, as a client does."""
        given = {"unique": value, "delay": delay, "tags": tags}
        own = {name: option for name, option in given.items() if option is not None}
        rows = [(self.twin.new("unique"), "", DATA["small"], own) for _ in range(times)]
        self.twin.both("put", rows, queue=self.queues[queue], on_exists=policy, options={})

    def tag(self, which: list[int], names: list[str], most: int) -> None:
        self.twin.both("tag", self.jobs(which, "complete"), names=names, most=most)

    def untag(self, which: list[int], names: list[str]) -> None:
        self.twin.both("untag", self.jobs(which, "complete"), names=names)

    def track(self, which: list[int], most: int) -> None:
        self.twin.both("track", self.jobs(which, "waiting"), most=most)

    def untrack(self, which: list[int]) -> None:
        self.twin.both("untrack", self.jobs(which, "complete"))

    # sessions

    def start_session(self, *, worker: str, ttl: int, serving: bool) -> None:
        token = self.twin.new("session")
        self.tokens[worker].append(token)
        self.twin.both("session_start", worker=worker, token=token, ttl=ttl, about="")
        for queue in self.queues if serving else []:
            self.twin.both("session_serve", worker=worker, token=token, queue=queue)

    def renew(self, *, worker: str, newest: bool) -> None:
        self.twin.both("session_renew", worker=worker, token=self.token(worker, newest=newest))

    def end_session(self, *, worker: str, newest: bool) -> None:
        self.twin.both("session_end", worker=worker, token=self.token(worker, newest=newest))

    def serve(self, worker: str, queue: int) -> None:
        token = self.token(worker, newest=True)
        self.twin.both("session_serve", worker=worker, token=token, queue=self.queues[queue])

    def unserve(self, worker: str, queue: int) -> None:
        token = self.token(worker, newest=True)
        self.twin.both("session_unserve", worker=worker, token=token, queue=self.queues[queue])

    def end_worker(self, worker: str) -> None:
        self.twin.both("session_end", worker=worker, token="")

    def token(self, worker: str, *, newest: bool) -> str:
        return self.tokens[worker][-1 if newest else 0]

    # queues, housekeeping, time

    def sweep(self) -> None:
        self.twin.sweep()

    def pause_or_resume(self, *, queue: int, paused: bool) -> None:
        self.twin.configure(self.queues[queue], paused=paused)

    def keep_little(self, queue: int, keep_count: int, keep_age: int) -> None:
        self.twin.configure(self.queues[queue], keep_count=keep_count, keep_age=keep_age)

    def delete_queue(self, queue: int) -> None:
        name = self.queues[queue]
        self.twin.both("delete_queue", queue=name, at_most=500)
        self.twin.configure(name, name)

    def tick(self, ms: int) -> None:
        self.twin.tick(ms)

    def tick_to_a_border(self, which: int, beside: int) -> None:
        moments = self.twin.model.moments() or [self.twin.model.now]
        self.twin.set_clock(moments[which % len(moments)] + beside)


def picked(known: list[T], which: list[int]) -> list[T]:
    return list(dict.fromkeys(known[number % len(known)] for number in which)) if known else []
