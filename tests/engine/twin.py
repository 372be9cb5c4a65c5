"""A namespace on a real server and its model, to which everything is done alike.

`both` makes a call in the model and on the server and compares the answers. A call that is refused
must change nothing; so must, where answers get lost, one that is made again.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import uuid4

import msgspec

import headrace
from headrace.client.talk import ask_one, drive
from headrace.engine.call import Call, build
from headrace.engine.moments import moment
from headrace.engine.script import Library
from headrace.testing import START, Clock, settable_clock
from tests.dump import dump
from tests.engine.calls import call_of
from tests.engine.model import Model
from tests.engine.view import View, readable

PROFILES = ("job", "task", "manual", "ring", "fifo")
WORKERS = ("ada", "bob")

# The plain case of put, pop and complete takes a short way; this makes it take the long one.
LONG_WAY = {"fast_path_switch": "local FAST_PATH = false\n"}

REPEATABLE = {
    *("put", "complete", "fail", "release", "cancel", "timeout", "retry", "requeue", "prioritise"),
    *("tag", "untag", "track", "untrack"),
    *("heartbeat", "session_start", "session_end", "delete_queue", "cancel_matching"),
}


@cache
def library(swaps: tuple[tuple[str, str], ...] = ()) -> Library:
    """The scripts with a settable clock and with parts swapped; composed once for all examples."""
    return Library(swaps={**settable_clock()._swaps, **dict(swaps)})


def opened(url: str, swaps: dict[str, str] | None = None) -> tuple[headrace.Client, Clock]:
    """A client on a namespace of its own whose scripts may have parts swapped, and its clock."""
    scripts = library(tuple((swaps or {}).items()))
    client = headrace.connect(url, namespace=f"test-{uuid4().hex[:12]}", library=scripts)
    return client, Clock(client)


def snapshot(hr: headrace.Client) -> dict[bytes, Any]:
    """Every key of the namespace and what it holds, as the server would move it elsewhere.

    Jobs are read: the same job can be packed in several ways, as a table of Lua has no order.
    """
    [names] = hr.core.wire.send([(0, ("KEYS", hr.core.key(0, "*")))])
    jobs = [name for name in names if b"}:job:" in name]
    others = [name for name in names if b"}:job:" not in name]
    contents = hr.core.wire.send(
        [(0, ("GET", name)) for name in jobs] + [(0, ("DUMP", name)) for name in others]
    )
    found = dict(zip(jobs + others, contents, strict=True))
    return found | {name: msgspec.msgpack.decode(found[name]) for name in jobs}


class Twin:
    """The server and the model."""

    def __init__(self, url: str, swaps: dict[str, str] | None = None) -> None:
        self.hr, self.clock = opened(url, swaps)
        self.model = Model(round(START.timestamp() * 1000))
        self.view = View(self.hr, self.model, PROFILES, WORKERS)
        self.leases: list[tuple[str, str]] = []
        self.answers_get_lost = False
        self.made = 0

    def new(self, what: str) -> str:
        """A name that was not there before."""
        self.made += 1
        return f"{what}{self.made}"

    def both(self, op: str, each: list[Any] | None = None, **args: Any) -> Any:
        """The answer of both, which must be the same."""
        expected = getattr(self.model, op)(*(() if each is None else (each,)), **args)
        self.view.expect_notices()
        refusals = [is_refusal(one) for one in listed(expected)]
        refused = bool(refusals) and all(refusals)
        before = snapshot(self.hr) if refused else None
        call = call_of(op, each or [], self.new("nonce"), args)
        answer = readable(op, self._ask_as_clients_do(call, each or []))
        assert answer in self._answers(op, expected), op
        if refused:
            assert snapshot(self.hr) == before, f"{op} was refused, but changed something"
        elif self.answers_get_lost and op in REPEATABLE and not any(refusals):
            self._ask_again(call)
        return answer

    def _answers(self, op: str, expected: Any) -> list[Any]:
        if op != "pop" or isinstance(expected, str) or expected[0] == 0:
            return [readable(op, expected)]
        return [readable(op, (due, expected[1])) for due in (expected[0], self.model.foreseen)]

    def _ask(self, call: Call[Any]) -> Any:
        return drive(self.hr.core.wire, ask_one(self.hr.core, 0, call))

    def _ask_as_clients_do(self, call: Call[Any], each: list[Any]) -> Any:
        """A plain job goes by put_one, unless that says that it has done nothing."""
        if call.op == "put" and len(each) == 1 and self._is_plain(call, *each[0]):
            one = build("put_one", int, queue=call.args[0], id=call.args[-2], data=call.args[-1])
            before = snapshot(self.hr) if self.answers_get_lost else None
            if self._ask(one) == 1:
                if self.answers_get_lost:
                    self._ask_again(one)
                return 1
            assert before is None or snapshot(self.hr) == before
        return self._ask(call)

    def _is_plain(self, call: Call[Any], job_id: str, *others: Any) -> bool:
        spare, _, own = others
        is_new = job_id not in self.model.jobs
        return is_new and not (spare or own or call.args[1] or call.args[3])

    def _ask_again(self, call: Call[Any]) -> None:
        before = snapshot(self.hr)
        [reply] = self.hr.core.wire.send([(0, self.hr.core.words(0, call, again=True))])
        assert not isinstance(reply, Exception), reply
        assert snapshot(self.hr) == before, f"{call.op} was repeated, and happened twice"

    def pop(self, queue: str, worker: str, count: int = 1, lease: int = -1) -> list[str]:
        """Pops as a client does: again while housekeeping takes the turn."""
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
        while not self.both("peek", queue=queue, count=count)[0]:
            pass

    def sweep(self) -> None:
        while not self.both("sweep", [(queue,) for queue in self.model.queues]):
            pass

    def push(self, queue: str, *pushed: str) -> None:
        """As a program does that knows nothing but lists."""
        self.model.pushed.setdefault(queue, []).extend(pushed)
        words = ("LPUSH", self.hr.core.key(0, f"ingress:{queue}"), *pushed)
        assert self.hr.core.wire.send([(0, words)]) == [len(self.model.pushed[queue])]

    def configure(self, queue: str, profile: str | None = None, **settings: Any) -> None:
        self.model.configure(queue, profile, **settings)
        self.view.expect_notices()
        in_seconds = {
            name: value / 1000 if name in ("keep_age", "result_ttl") else value
            for name, value in settings.items()
        }
        self.hr.queue(queue).configure(profile, **in_seconds)

    def set_clock(self, now: int) -> None:
        self.model.now = now
        self.clock.set(moment(now))

    def leave_nothing(self) -> None:
        """Without queues and sessions nothing is left but the log and what made the namespace."""
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
