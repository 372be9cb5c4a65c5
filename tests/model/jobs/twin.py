"""The job scripts and their model: every call is made on both, and the results are compared.

`both` makes a call in the model and on the server and compares the answers. A refused call must
change nothing. While `answers_get_lost` is set, calls are repeated, and must change nothing then.
"""

from __future__ import annotations

from typing import Any

from tests.model.harness import START_MS, Swaps, Twin, snapshot
from tests.model.jobs.calls import call_of
from tests.model.jobs.model import Model
from tests.model.jobs.view import View, readable
from tests.support.dump import dump

PROFILES = ("job", "task", "manual", "ring", "fifo")
WORKERS = ("ada", "bob")

REPEATABLE = {
    *("put", "complete", "fail", "release", "cancel", "timeout", "retry", "requeue", "prioritise"),
    *("tag", "untag", "track", "untrack"),
    *("heartbeat", "session_start", "session_end", "delete_queue", "cancel_matching"),
}


class JobTwin(Twin[Model]):
    """The server and the model of jobs."""

    def __init__(self, url: str, swaps: Swaps | None = None) -> None:
        super().__init__(url, Model(START_MS), swaps)
        self.view = View(self.hr, self.model, PROFILES, WORKERS)
        self.leases: list[tuple[str, str]] = []
        self.answers_get_lost = False

    def both(self, op: str, each: list[Any] | None = None, **args: Any) -> Any:
        """Return the answer of server and model, which must be the same."""
        expected = getattr(self.model, op)(*(() if each is None else (each,)), **args)
        self.view.expect_notices()
        refusals = [is_refusal(one) for one in listed(expected)]
        refused = bool(refusals) and all(refusals)
        before = snapshot(self.hr) if refused else None
        is_new = op == "put" and self._are_new(each or [], **args)
        call = call_of(op, each or [], {**args, "on_exists": None} if is_new else args)
        first_reply = self.ask(call)
        answer = readable(op, first_reply)
        assert answer in self._answers(op, expected), op
        if refused:
            assert snapshot(self.hr) == before, f"a refused {op} changed something"
        elif self.answers_get_lost and op in REPEATABLE and not any(refusals):
            reply = self.ask_again(call)
            if call.ticket:
                assert reply == first_reply
            elif op == "put":
                assert reply == [0] * len(each or [])
        return answer

    def _answers(self, op: str, expected: Any) -> list[Any]:
        if op != "pop" or isinstance(expected, str) or expected[0] == 0:
            return [readable(op, expected)]
        return [readable(op, (due, expected[1])) for due in (expected[0], self.model.foreseen)]

    def _are_new(self, rows: list[Any], options: dict[str, Any], **_: Any) -> bool:
        """Return whether a client would put these jobs under new ids."""
        ids = {job_id for job_id, *_ in rows}
        named = any(spare or "unique" in {**options, **own} for _, spare, _, own in rows)
        return len(ids) == len(rows) and not named and not ids & self.model.jobs.keys()

    def pop(self, queue: str, worker: str, count: int = 1, lease: int = -1) -> list[str]:
        """Pop as a client does: repeat the call as long as it does only housekeeping."""
        while True:
            secret = self.new("secret")
            answer = self.both(
                "pop", queue=queue, worker=worker, secret=secret, count=count, lease=lease, offer=0
            )
            if answer == "SESSION_REQUIRED":
                return []
            due, popped = answer
            if popped or due != 0:
                self.leases += [(job_id, token) for job_id, token, *_ in popped]
                return [job_id for job_id, *_ in popped]

    def peek(self, queue: str, count: int) -> None:
        is_early, _ = self.both("peek", queue=queue, count=count)
        if is_early:
            while not self.both("prepare_peek", queue=queue):
                pass
            self.both("peek", queue=queue, count=count)

    def sweep(self) -> None:
        while not self.both("sweep", [(queue,) for queue in self.model.queues]):
            pass

    def push(self, queue: str, *pushed: str) -> None:
        """Push to the ingress list, as a program without Headrace does."""
        self.model.pushed.setdefault(queue, []).extend(pushed)
        words = ("LPUSH", self.hr.core.key(0, f"ingress:{queue}"), *pushed)
        assert self.hr.core.transport.send([(0, words)]) == [len(self.model.pushed[queue])]

    def configure(self, queue: str, profile: str | None = None, **settings: Any) -> None:
        self.model.configure(queue, profile, **settings)
        self.view.expect_notices()
        in_seconds = {
            name: value / 1000 if name in ("keep_age", "result_ttl") else value
            for name, value in settings.items()
        }
        self.hr.queue(queue).configure(profile, **in_seconds)

    def leave_nothing(self) -> None:
        """Delete everything; assert that only the log and the keys of the namespace remain."""
        for worker in list(self.model.sessions):
            self.both("session_end", worker=worker, token="")
        self.both("untrack", [(job_id,) for job_id in self.model.tracked_since])
        for queue in list(self.model.queues):
            self.both("delete_queue", queue=queue, at_most=500)
        self.view.check()
        self.set_clock(self.model.now + 10**10)
        self.sweep()
        self.view.check()
        left = {key.partition("}:")[2]: value for key, (_, value) in dump(self.hr).items()}
        assert left.pop("agenda", [b"events:"])[0] == b"events:"
        assert set(left) <= {"clock", "events", "log", "meta"}


def listed(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def is_refusal(answer: object) -> bool:
    return isinstance(answer, str) and answer[:1].isupper()
