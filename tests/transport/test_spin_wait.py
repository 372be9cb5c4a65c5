"""The sync client spins for a reply only if spinning is faster than sleeping."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from headrace.transport import spin_wait
from headrace.transport.spin_wait import (
    CALLS_BETWEEN_TRIALS,
    IDLE_AFTER,
    SPIN_FOR,
    TRIALS,
    SpinWait,
)

US = 1e-6
A_LOOK = 2 * US
IN_TRIALS = sum(calls for _, calls in TRIALS)


@dataclass
class Machine:
    """A simulated machine: a reply takes answers_after, waking up from sleep takes waking_up."""

    answers_after: float
    waking_up: float
    spin_costs: float = 0.0
    now: float = 0.0
    answer_at: float = 0.0
    looks: list[int] = field(default_factory=list)

    def perf_counter(self) -> float:
        return self.now

    def ask(self, waiting: SpinWait) -> bool:
        """Return whether the client spun for the reply."""
        self.answer_at = self.now + self.answers_after
        self.looks = []
        waiting.wait(self.now)
        self.now = max(self.now, self.answer_at)
        return 0 in self.looks

    def poll(self, milliseconds: int) -> list[tuple[int, int]]:
        self.looks.append(milliseconds)
        if milliseconds:
            if self.now < self.answer_at:
                woken = min(self.answer_at + self.waking_up, self.now + milliseconds / 1000)
                self.now = max(self.answer_at, woken)
        else:
            self.now += A_LOOK
            # Spinning may slow the server down.
            self.answer_at += self.spin_costs
        return [(0, 0)] if self.now >= self.answer_at else []


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.socket() as found:
        yield found


def waiting_on(
    machine: Machine, connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> SpinWait:
    monkeypatch.setattr(spin_wait, "perf_counter", machine.perf_counter)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    waiting = SpinWait(connection.fileno())
    waiting._poll = machine  # type: ignore[assignment]
    machine.ask(waiting)
    return waiting


def spinning_on(
    machine: Machine, connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> SpinWait:
    """Return a SpinWait after trials in which spinning was faster."""
    waiting = waiting_on(machine, connection, monkeypatch)
    for _ in range(IN_TRIALS):
        machine.ask(waiting)
    assert machine.ask(waiting)
    return waiting


@pytest.mark.parametrize(
    ("machine", "spins"),
    [
        pytest.param(Machine(40 * US, 50 * US), True, id="near"),
        pytest.param(Machine(40 * US, 2 * US), False, id="soon woken"),
        pytest.param(Machine(40 * US, 50 * US, spin_costs=A_LOOK), False, id="no core to spare"),
        pytest.param(Machine(500 * US, 50 * US), False, id="far"),
    ],
)
def test_faster_way_of_the_trials_is_used(
    machine: Machine,
    *,
    spins: bool,
    connection: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = waiting_on(machine, connection, monkeypatch)
    for _ in range(IN_TRIALS):
        machine.ask(waiting)

    assert {machine.ask(waiting) for _ in range(CALLS_BETWEEN_TRIALS)} == {spins}


def test_trials_are_repeated(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(40 * US, 50 * US)
    waiting = waiting_on(machine, connection, monkeypatch)
    for _ in range(IN_TRIALS + CALLS_BETWEEN_TRIALS - 1):
        machine.ask(waiting)
    assert machine.ask(waiting)

    machine.spin_costs = A_LOOK
    for _ in range(IN_TRIALS):
        machine.ask(waiting)

    assert not machine.ask(waiting)


def test_spin_is_bounded(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(40 * US, 50 * US)
    waiting = spinning_on(machine, connection, monkeypatch)

    machine.answers_after = 1.0
    begun = machine.now
    machine.answer_at = begun + 1.0
    waiting.wait(begun)

    assert SPIN_FOR <= machine.now - begun <= SPIN_FOR + 2 * A_LOOK


def test_idle_connection_does_not_spin(
    connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(40 * US, 50 * US)
    waiting = spinning_on(machine, connection, monkeypatch)

    for _ in range(CALLS_BETWEEN_TRIALS + IN_TRIALS):
        machine.now += IDLE_AFTER
        assert not machine.ask(waiting)
        assert machine.looks == []

    assert machine.ask(waiting)


def test_process_with_threads_does_not_spin(
    connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(40 * US, 50 * US)
    waiting = spinning_on(machine, connection, monkeypatch)

    monkeypatch.setattr(threading, "active_count", lambda: 2)

    for _ in range(CALLS_BETWEEN_TRIALS + IN_TRIALS):
        assert not machine.ask(waiting)
        assert machine.looks == []


def test_system_without_poll_does_not_spin(
    connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SpinWait.on(connection.fileno()) is not None

    monkeypatch.delattr(select, "poll")

    assert SpinWait.on(connection.fileno()) is None


@pytest.mark.parametrize(("value", "spins"), [("0", False), ("1", True), ("", True)])
def test_environment_variable_switches_the_spin_wait_off(
    connection: socket.socket, monkeypatch: pytest.MonkeyPatch, value: str, *, spins: bool
) -> None:
    monkeypatch.setenv("HEADRACE_SPIN_WAIT", value)

    assert (SpinWait.on(connection.fileno()) is not None) is spins
