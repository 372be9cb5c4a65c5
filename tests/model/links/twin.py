"""The scripts of dependencies and their model: every step is repeated, and compared."""

from __future__ import annotations

from typing import Any

from headrace.engine.call import Call
from headrace.engine.script import source
from tests.model.harness import START_MS, Swaps, Twin, snapshot
from tests.model.jobs.calls import call_of
from tests.model.links.model import MARK, Model

NAMES = "abcdef"
QUEUES = ("q", "r")
GROUPS = ("g", "h")


class LinkTwin(Twin[Model]):
    """The server and the model of dependencies.

    If `slow` is set, each call updates only one dependent, and a sweep updates the others.
    """

    def __init__(self, url: str, swaps: Swaps | None = None, *, slow: bool = False):
        super().__init__(url, Model(START_MS), smallest_steps(swaps or {}) if slow else swaps)
        self.slow = slow
        for queue in QUEUES:
            self.hr.queue(queue).configure(lease=None)

    def call(self, op: str, each: list[Any] | None = None, **args: Any) -> Any:
        """Return the server's answer; the same call must change nothing when it is repeated."""
        call = call_of(op, each or [], args)
        answer = read(self.ask(call))
        self._repeat(call, answer)
        return answer

    def _repeat(self, call: Call[Any], answer: Any) -> None:
        if call.op not in ("pop", "sweep"):
            reply = self.ask_again(call)
            assert not call.ticket or read(reply) == answer, "a repeated call got another answer"

    # steps

    def put(self, name: str, queue: str, on_exists: str = "move", **given: Any) -> None:
        expected = self.model.put(name, queue, on_exists, **given)
        row = (name, f"{{{name}}}~{self.made}", '"x"', given)
        answer = self.call("put", [row], queue=queue, on_exists=on_exists, options={})
        self.check(answer, [expected])

    def put_all(self, names: list[str], queue: str, **given: Any) -> None:
        """Put several new jobs in one call."""
        fresh = [name for name in names if name not in self.model.jobs]
        expected = self.model.put_all(fresh, queue, **given)
        rows = [(name, f"{{{name}}}~{self.made}", '"x"', given) for name in fresh]
        if fresh:
            self.check(self.call("put", rows, queue=queue, on_exists="", options={}), expected)

    def depend(self, name: str, parents: list[str]) -> None:
        expected = self.model.depend(name, parents)
        self.check(self.call("depend", [(name,)], parents=parents, state=""), [expected])

    def undepend(self, name: str, parents: list[str] | None) -> None:
        expected = self.model.undepend(name, parents)
        self.check(self.call("undepend", [(name,)], parents=parents), [expected])

    def pop_all(self, queue: str) -> None:
        expected = self.model.pop_all(queue)
        popped = [lease.id for lease in self.hr.queue(queue).pop("w", count=50)]
        self.check(sorted(popped), sorted(expected))

    def finish(self, names: list[str]) -> None:
        expected = self.model.finish(names)
        rows = [(name, "", None, None) for name in names]
        answer = self.call("complete", rows, next_queue=None, delay=0)
        self.check(answer, expected)

    def move_on(self, name: str, queue: str, delay: int, parents: list[str] | None) -> None:
        expected = self.model.move_on(name, queue, delay, parents)
        rows = [(name, "", None, None)]
        answer = self.call("complete", rows, next_queue=queue, delay=delay, parents=parents)
        self.check(answer, [expected])

    def fail(self, name: str) -> None:
        expected = self.model.fail(name)
        self.check(self.call("fail", [(name, "", "io", "why", None, -1, None)]), [expected])

    def retry(self, name: str) -> None:
        expected = self.model.retry(name)
        self.check(self.call("retry", [(name,)], delay=0), [expected])

    def requeue(self, name: str, queue: str) -> None:
        expected = self.model.requeue(name, queue)
        self.check(self.call("requeue", [(name,)], queue=queue, delay=0), [expected])

    def cancel(self, names: list[str], *, cascade: bool = False) -> None:
        expected = self.model.cancel(names, cascade=cascade)
        before = snapshot(self.hr)
        answer = self.call("cancel", [(name,) for name in names], cascade=cascade)
        if expected == "HAS_DEPENDENTS":
            assert snapshot(self.hr) == before
            assert answer[:1] == ["HAS_DEPENDENTS"]
            assert not {*answer[2:]} & {*names}
        else:
            assert answer == expected
        self.check(None, None)

    def delete_queue(self, queue: str) -> None:
        self.model.delete_queue(queue)
        if queue in self.hr.queues():
            self.call("delete_queue", queue=queue, at_most=500)
        self.hr.queue(queue).configure(lease=None)
        self.check(None, None)

    def tick(self, ms: int) -> None:
        """Move the clock and do everything that is due by then."""
        super().tick(ms)
        self.model.sweep()
        self.hr.sweep()
        self.check(None, None)

    # comparison

    def check(self, answer: Any, expected: Any) -> None:
        assert answer == expected
        if self.slow:
            self.hr.sweep()
        names = sorted(self.model.jobs)
        found = {job.id: job for job in self.hr.jobs(list(NAMES))}
        assert sorted(found) == names
        for name, job in self.model.jobs.items():
            seen = found[name]
            waits_for = {*seen.depends_on, *(MARK + group for group in seen.depends_on_groups)}
            assert (name, seen.state, waits_for) == (name, job.state, {*job.depends})
            assert {*seen.dependents} == {*self.model.dependents(name)}, name
            assert (seen.group or "") == job.group
            if job.failure and not self.slow:
                assert seen.failure is not None
                assert seen.failure.type == job.failure
        for group in GROUPS:
            pending = self.hr.group(group).pending()
            assert pending == len(self.model.members(group)), group
        audit = self.hr.audit()
        assert audit.balanced, audit.problems

    def leave_nothing(self) -> None:
        """Delete the queues; assert that no dependency remains."""
        for queue in QUEUES:
            self.delete_queue(queue)
        left = self.roles_left()
        assert left <= {"agenda", "events", "log", "meta", "queues", "settings"}, left


def smallest_steps(swaps: Swaps) -> Swaps:
    """Return a swap with which each call updates only one dependent."""
    text = swaps.get("update_dependents", source("lib/update_dependents").text)
    changed = text.replace("FOLLOW_AT_MOST = 256", "FOLLOW_AT_MOST = 1")
    assert changed != text
    return {**swaps, "update_dependents": changed}


def read(answer: Any) -> Any:
    if isinstance(answer, bytes):
        return answer.decode()
    return [read(one) for one in answer] if isinstance(answer, list) else answer
