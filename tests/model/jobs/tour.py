"""Short words for the steps of a walk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.model.harness import Check, Swaps, named
from tests.model.jobs.twin import JobTwin

LARGE = '"' + "large" * 400 + '"'


class Tour:
    """A twin with a short method for each step; every step compares the server with the model."""

    def __init__(self, twin: JobTwin) -> None:
        self.twin = twin

    def do(self, op: str, each: list[Any] | None = None, **args: Any) -> Any:
        answer = self.twin.both(op, each, **args)
        self.twin.view.check()
        return answer

    def open(self, profile: str, **settings: Any) -> None:
        self.twin.configure(profile, profile, **settings)
        self.twin.view.check()

    def put(
        self, queue: str, *names: str, policy: str = "", data: str = '""', **options: Any
    ) -> None:
        rows: list[Any] = [(name, self.twin.new(f"{{{name}}}~"), data, {}) for name in names]
        self.do("put", rows, queue=queue, on_exists=policy, options=options)

    def put_plainly(self, queue: str, *names: str) -> None:
        """Put jobs without options, as a client does, but under known ids."""
        rows: list[Any] = [(name, "", '""', {}) for name in names]
        self.do("put", rows, queue=queue, on_exists="", options={})

    def put_unique(
        self,
        queue: str,
        value: str,
        *names: str,
        policy: str = "",
        data: str = '""',
        **options: Any,
    ) -> None:
        """Put jobs with a unique value, as a client does, but under known ids."""
        rows: list[Any] = [(name, "", data, {"unique": value}) for name in names]
        self.do("put", rows, queue=queue, on_exists=policy, options=options)

    def push(self, queue: str, *pushed: str) -> None:
        self.twin.push(queue, *pushed)

    def pop(self, queue: str, worker: str = "ada", count: int = 1, lease: int = -1) -> list[str]:
        popped = self.twin.pop(queue, worker, count, lease)
        self.twin.view.check()
        return popped

    def peek(self, queue: str, count: int) -> None:
        self.twin.peek(queue, count)
        self.twin.view.check()

    def tick(self, ms: int) -> None:
        self.twin.tick(ms)
        self.twin.view.check()

    def sweep(self) -> None:
        self.twin.sweep()
        self.twin.view.check()

    def lease(self, name: str) -> tuple[str, str]:
        """Return the newest lease of a job, lost or not."""
        return next(lease for lease in reversed(self.twin.leases) if lease[0] == name)

    def complete(
        self, *names: str, result: str | None = None, to: str | None = None, **more: Any
    ) -> None:
        rows = [(*self.lease(name), result, more.get("data")) for name in names]
        self.do("complete", rows, next_queue=to, delay=more.get("delay", 0))

    def fail(self, name: str, retry_in: int = -1, kind: str = "io") -> None:
        self.do("fail", [(*self.lease(name), kind, "why", "where", retry_in, None)])

    def release(self, name: str, position: str = "", delay: int = 0) -> None:
        self.do("release", [self.lease(name)], position=position, delay=delay, reason="worker")

    def beat(self, name: str, lease: int = -1, data: str | None = None) -> None:
        self.do("heartbeat", [(*self.lease(name), data)], lease=lease)

    def by_id(self, op: str, *names: str, **args: Any) -> None:
        self.do(op, [(name,) for name in names], **args)

    def matching(self, queue: str, data: str) -> None:
        self.do("find_matching", queue=queue, data=data, at_most=1000, cursor=None)

    def cancel_matching(self, queue: str, data: str) -> None:
        self.do("cancel_matching", queue=queue, data=data, at_most=1000, cursor=None)

    def session(self, worker: str, *queues: str, ttl: int = 3000) -> str:
        token = self.twin.new("session")
        self.do("session_start", worker=worker, token=token, ttl=ttl, about="")
        for queue in queues:
            self.do("session_serve", worker=worker, token=token, queue=queue)
        return token


def walk(steps: Callable[[Tour], None]) -> Check:
    """Return a check that takes the steps on a namespace of its own and leaves nothing behind."""

    def run(url: str, swaps: Swaps) -> None:
        with JobTwin(url, swaps) as twin:
            steps(Tour(twin))
            twin.leave_nothing()

    return named(steps.__name__, run)
