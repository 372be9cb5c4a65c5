"""Spark drivers that proceed step by step, may die at any point, and whose calls may come late.

The expectation is simple: only the rows of the first commit of a write become jobs,
each of them once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from headrace import connect
from headrace.errors import StagedLost, WriteAborted
from headrace.operations import writes
from headrace.operations.requests import load
from headrace.operations.staging import SparkWrite, StagedAttempt, Staging, transaction_id
from headrace.testing import Clock
from headrace.transport.drive import Operation, Refresh, Send, Sleep, drive
from tests.model.harness import library
from tests.support.dump import dump

OPS = ("stage", "prepare", "commit", "publish", "finalize", "discard")
WRITES = (
    writes.batch_write("w", "mail", "move"),
    *(writes.stream_write("q", batch, "mail", "move") for batch in range(3)),
)
DAY = 86_400


@dataclass
class Driver:
    """One attempt to write: its staged rows and its progress."""

    write: SparkWrite
    attempts: list[StagedAttempt]
    ids: set[str]
    operation: Operation[Any] | None
    wish: Any = None
    committed: bool = False

    @property
    def transaction(self) -> str:
        return transaction_id(self.write, self.attempts)


@dataclass
class World:
    """A namespace, its drivers and their commits."""

    url: str
    shards: int
    swaps: dict[str, str] = field(default_factory=dict)
    drivers: list[Driver] = field(default_factory=list)
    sent: list[tuple[int, Any]] = field(default_factory=list)
    winners: dict[tuple[str, int], str] = field(default_factory=dict)
    made: int = 0

    def __post_init__(self) -> None:
        scripts = library(tuple(self.swaps.items()))
        name = f"writes-{uuid4().hex[:12]}"
        self.hr = connect(self.url, namespace=name, shards=self.shards, library=scripts)
        self.clock = Clock(self.hr)
        self.core = self.hr.core
        drive(self.core.transport, load(self.core))
        self._ops = {self.core.library.operations[op].function: op for op in OPS}

    # steps

    def begin(self, which: int, rows: int) -> None:
        """Start a driver whose tasks have staged rows in two attempts."""
        attempts, ids = [], set()
        for order in range(2):
            self.made += 1
            staging = Staging(self.core, f"attempt{self.made}")
            items = [(f"{self.made}.{number}", b"1") for number in range(rows)]
            ids |= {name for name, _ in items}
            for operation in (staging.add(items[:1]), staging.add(items[1:])):
                self._carry_out(operation)
            attempts.append(self._carry_out(staging.end(order)))
        write = WRITES[which % len(WRITES)]
        driver = Driver(write, attempts, ids, None)
        driver.operation = self._commit(driver)
        self.drivers.append(driver)

    def _commit(self, driver: Driver) -> Operation[None]:
        transaction = yield from writes.commit(self.core, driver.write, driver.attempts)
        if transaction is not None:
            yield from writes.publish_and_finalize(self.core, driver.write.name, transaction)
        driver.committed = True

    def step(self, which: int) -> None:
        """Let a driver make one call; after the call, the driver may be dead."""
        going = [driver for driver in self.drivers if driver.operation]
        if going:
            self._go_on(going[which % len(going)])

    def _go_on(self, driver: Driver) -> None:
        assert driver.operation
        try:
            answer = self._fulfil(driver.wish) if driver.wish else None
            driver.wish = driver.operation.send(answer)
        except (StopIteration, StagedLost, WriteAborted):
            driver.operation = driver.wish = None

    def _fulfil(self, wish: Any) -> Any:
        assert isinstance(wish, Send | Sleep | Refresh), wish
        return self._send(wish.commands) if isinstance(wish, Send) else None

    def _carry_out(self, operation: Operation[Any]) -> Any:
        try:
            wish = next(operation)
            while True:
                wish = operation.send(self._fulfil(wish))
        except StopIteration as end:
            return end.value

    def _send(self, commands: list[tuple[int, Any]]) -> list[Any]:
        replies: list[Any] = self.core.transport.send(commands)
        for command, reply in zip(commands, replies, strict=True):
            if self._ops.get(command[1][1]) is not None:
                self.sent.append(command)
            if self._ops.get(command[1][1]) == "commit":
                self._note(command[1], reply)
        return replies

    def _note(self, words: Any, reply: Any) -> None:
        if isinstance(reply, list) and reply[0] == 1:
            write, batch, transaction = words[5:8]
            assert (write, batch) not in self.winners, "committed twice"
            self.winners[write, batch] = transaction

    def abort(self, which: int) -> None:
        """Abort a driver at any point of its progress."""
        if self.drivers:
            driver = self.drivers[which % len(self.drivers)]
            driver.operation = writes.abort(self.core, driver.write, driver.attempts)
            driver.wish = None

    def crash(self, which: int) -> None:
        if self.drivers:
            driver = self.drivers[which % len(self.drivers)]
            driver.operation = driver.wish = None

    def repeat(self, which: int) -> None:
        """Deliver a copy of an earlier call."""
        if self.sent:
            shard, words = self.sent[which % len(self.sent)]
            again = (*words[:4], b"1", *words[5:])
            self._send([(shard, again if which % 2 else words)])

    def wait(self, seconds: int) -> None:
        self.clock.tick(seconds)

    def sweep(self, _: int = 0) -> None:
        self.hr.sweep()

    def work(self, which: int) -> None:
        """Put a job that has nothing to do with the writes."""
        self.hr.queue("other").put(which)

    # comparison

    def check(self) -> None:
        """Assert that only committed rows have become jobs, each once."""
        puts = Counter(
            event.job_id
            for event in self.hr.events(count=10_000)
            if event.queue == "mail" and event.kind == "put"
        )
        assert puts.keys() <= self.wanted(), "rows of an uncommitted write were published"
        assert set(puts.values()) <= {1}, "a row became a job twice"
        for driver in self.drivers:
            if driver.committed:
                assert self._is_committed(driver.write), "a driver continued without a commit"

    def _is_committed(self, write: SparkWrite) -> bool:
        return any(name == write.name and batch >= write.batch for name, batch in self.winners)

    def wanted(self) -> set[str]:
        """Return the ids of all rows of the committed writes."""
        transactions = set(self.winners.values())
        return {
            name
            for driver in self.drivers
            if driver.transaction in transactions
            for name in driver.ids
        }

    def end(self) -> None:
        """Let all drivers die; assert that sweeps finish committed writes and remove the others."""
        for _ in range(3):
            self.clock.tick(3)
            self.hr.sweep()
        self.check()
        page = self.hr.queue("mail").jobs("waiting", count=1000).jobs
        assert {job.id for job in page} == self.wanted()
        assert self.hr.audit().balanced
        assert not any(write.lost for write in self.hr.writes.list(count=1000))
        for days in (2, 2, 8):
            self.clock.tick(days * DAY)
            self.hr.sweep()
        roles = {key.partition("}:")[2].partition(":")[0] for key in dump(self.hr)}
        assert not roles & {"staged", "attempts", "transaction", "transactions"}
