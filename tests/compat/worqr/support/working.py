"""Helpers of the worqr tests: start workers and tasks, and wait for notices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.compat.worqr import Process, Worqr

Received = list[tuple[str, Any]]


def at_work(worqr: Worqr, *queues: str) -> Worqr:
    """Start the worker of an instance and its work on queues."""
    worqr.startWorker()
    for queue in queues:
        worqr.startWork(queue)
    return worqr


def started(worqr: Worqr, queue: str = "Q1") -> Process:
    """Start a task; a task must be waiting."""
    process = worqr.startTask(queue)
    assert process is not None
    return process


def drained(worqr: Worqr, queue: str = "Q1") -> list[Any]:
    """Start every task and return them in order."""
    tasks = []
    while process := worqr.startTask(queue):
        tasks.append(process.task)
    return tasks


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds while threads run."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"timed out waiting until {what}"
        time.sleep(0.002)


def receiving(worqr: Worqr, queue: str = "Q1") -> Received:
    """Return a list to which a handler of the queue appends every notice from now on."""
    received: Received = []
    worqr.on(queue, lambda kind, message: received.append((kind, message)))
    return received


def expect(received: Received, *notices: tuple[str, Any]) -> None:
    """Wait for exactly these notices."""
    eventually(lambda: len(received) >= len(notices), f"{notices} arrive, not {received}")
    assert received == list(notices)
    received.clear()
