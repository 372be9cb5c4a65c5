"""The scripts and the model side by side; every step is compared, and repeated."""

from __future__ import annotations

from typing import Any

from headrace.engine.call import Call
from headrace.engine.moments import moment
from headrace.operations.requests import ask_one
from headrace.testing import START
from headrace.transport.drive import drive
from tests.dump import dump
from tests.engine.calls import call_of
from tests.engine.links.model import MARK, Model
from tests.engine.twin import opened, snapshot

NAMES = "abcdef"
QUEUES = ("q", "r")
GROUPS = ("g", "h")


class Pair:
    """The server and the model of links."""

    def __init__(self, url: str, swaps: dict[str, str] | None = None, *, slow: bool = False):
        self.hr, self.clock = opened(url, swaps)
        self.model = Model(round(START.timestamp() * 1000))
        self.slow = slow
        self.made = 0
        self.named = 0
        for queue in QUEUES:
            self.hr.queue(queue).configure(lease=None)

    def ask(self, op: str, each: list[Any] | None = None, **args: Any) -> Any:
        """The answer of the server, which must not change anything when it is asked again."""
        self.made += 1
        call = call_of(op, each or [], f"nonce{self.made}", args)
        answer = drive(self.hr.core.transport, ask_one(self.hr.core, 0, call))
        self._ask_again(call, read(answer))
        return read(answer)

    def _ask_again(self, call: Call[Any], answer: Any) -> None:
        gone = call.op == "put" and any(self.hr.job(name) is None for name in put_names(call))
        if gone or call.op in ("pop", "sweep"):
            return
        before = snapshot(self.hr)
        [reply] = self.hr.core.transport.send([(0, self.hr.core.words(0, call, again=True))])
        assert not isinstance(reply, Exception), reply
        assert snapshot(self.hr) == before, f"{call.op} was repeated, and happened twice"
        if call.op == "undepend" and answer[0].islower():
            assert read(reply) == answer, "a repeated call was refused"

    # steps

    def put(self, name: str, queue: str, on_exists: str = "move", **given: Any) -> None:
        expected = self.model.put(name, queue, on_exists, **given)
        row = (name, f"{{{name}}}~{self.made}", '"x"', given)
        answer = self.ask("put", [row], queue=queue, on_exists=on_exists, options={})
        self.check(answer, [expected])

    def put_all(self, names: list[str], queue: str, **given: Any) -> None:
        """Many that are new, in one call."""
        fresh = [name for name in names if name not in self.model.jobs]
        expected = self.model.put_all(fresh, queue, **given)
        rows = [(name, f"{{{name}}}~{self.made}", '"x"', given) for name in fresh]
        if fresh:
            self.check(self.ask("put", rows, queue=queue, on_exists="", options={}), expected)

    def depend(self, name: str, parents: list[str]) -> None:
        expected = self.model.depend(name, parents)
        self.check(self.ask("depend", [(name,)], parents=parents), [expected])

    def undepend(self, name: str, parents: list[str] | None) -> None:
        expected = self.model.undepend(name, parents)
        self.check(self.ask("undepend", [(name,)], parents=parents), [expected])

    def pop_all(self, queue: str) -> None:
        expected = self.model.pop_all(queue)
        popped = [lease.id for lease in self.hr.queue(queue).pop("w", count=50)]
        self.check(sorted(popped), sorted(expected))

    def finish(self, names: list[str]) -> None:
        expected = self.model.finish(names)
        rows = [(name, "", None, None) for name in names]
        answer = self.ask("complete", rows, next_queue=None, delay=0)
        self.check(answer, expected)

    def move_on(self, name: str, queue: str, delay: int, parents: list[str] | None) -> None:
        expected = self.model.move_on(name, queue, delay, parents)
        rows = [(name, "", None, None)]
        answer = self.ask("complete", rows, next_queue=queue, delay=delay, parents=parents)
        self.check(answer, [expected])

    def fail(self, name: str) -> None:
        expected = self.model.fail(name)
        self.check(self.ask("fail", [(name, "", "io", "why", None, -1, None)]), [expected])

    def retry(self, name: str) -> None:
        expected = self.model.retry(name)
        self.check(self.ask("retry", [(name,)], delay=0), [expected])

    def requeue(self, name: str, queue: str) -> None:
        expected = self.model.requeue(name, queue)
        self.check(self.ask("requeue", [(name,)], queue=queue, delay=0), [expected])

    def cancel(self, names: list[str], *, cascade: bool = False) -> None:
        expected = self.model.cancel(names, cascade=cascade)
        before = snapshot(self.hr)
        answer = self.ask("cancel", [(name,) for name in names], cascade=cascade)
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
            self.ask("delete_queue", queue=queue, at_most=500)
        self.hr.queue(queue).configure(lease=None)
        self.check(None, None)

    def tick(self, ms: int) -> None:
        """Time goes by, and whatever is due by then is done."""
        self.model.now += ms
        self.clock.set(moment(self.model.now))
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
        """Without queues no link is left."""
        for queue in QUEUES:
            self.delete_queue(queue)
        left = {key.partition("}:")[2].partition(":")[0] for key in dump(self.hr)}
        assert left <= {"agenda", "events", "log", "meta", "queues", "settings"}, left


def read(answer: Any) -> Any:
    if isinstance(answer, bytes):
        return answer.decode()
    return [read(one) for one in answer] if isinstance(answer, list) else answer


def put_names(call: Call[Any]) -> list[str]:
    """The ids that a put call is to make: the last arguments are pairs of an id and data."""
    return [str(name) for name in call.args[5::2]]
