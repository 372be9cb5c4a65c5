"""The program of an isolated process: takes a job, runs it, says what came of it, and so on."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import signal
import socket
import sys
from typing import Any

from headrace.app.app import App
from headrace.app.context import Context, enter
from headrace.engine.record import decode_record
from headrace.operations.popping import Popped
from headrace.worker.isolated import LENGTH_BYTES, READY, pack, unpack
from headrace.worker.load import load_app
from headrace.worker.reading import read_call
from headrace.worker.run import (
    Done,
    Failed,
    Run,
    Snoozed,
    failed,
    packed_value,
)

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serves the worker at the other end of a socket until it is closed."""
    app_path, number, worker_pid = sys.argv[1:]
    _die_with(int(worker_pid))
    # Whoever ends all of us wants the worker to end: that ends this one when its job is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)
    app = load_app(app_path)
    with socket.socket(fileno=int(number)) as line, line.makefile("rwb") as stream:
        stream.write(READY)
        stream.flush()
        while head := stream.read(LENGTH_BYTES):
            job_id, packed, payload, trace = unpack(stream.read(int.from_bytes(head, "big")))
            popped = Popped(job_id, decode_record(packed), packed, payload)
            outcome = run_isolated(app, popped, trace)
            values = [_sendable(getattr(outcome, name)) for name in outcome.__dataclass_fields__]
            body = pack((type(outcome).__name__, values))
            stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
            stream.flush()


def _sendable(value: Any) -> Any:
    """What users raise may be no valid Unicode."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _die_with(worker_pid: int) -> None:
    """A job whose worker was killed goes to another: it must not run on here."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != worker_pid:
        sys.exit(1)


def run_isolated(app: App, popped: Popped, trace: dict[str, str] | None) -> Done | Failed | Snoozed:
    """Runs a job here and now; the worker tells of it."""
    run = Run(popped, Context(app, popped))
    if trace is not None and app.telemetry is not None:
        run.context.span = app.telemetry.joining(trace)
    try:
        envelope = read_call(app, run)
        enter(run.context)
        value: Any = envelope.task.function(**envelope.arguments)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return Done(packed_value(app, value))
    except Exception as error:  # noqa: BLE001 - whatever it is, it becomes of the job
        return failed(app, popped, error, run.sent)


if __name__ == "__main__":
    main()
