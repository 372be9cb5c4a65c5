"""From a job that was handed out to the call it asks for."""

from __future__ import annotations

from headrace.app.app import App
from headrace.worker.run import Envelope, Run, open_envelope, read_data


def read_call(app: App, run: Run) -> Envelope:
    """What a job asks for, with its context where it is wanted; telemetry is told of the run."""
    try:
        run.sent = read_data(app.codec, run.popped.payload)
    finally:
        if app.telemetry is not None and run.context.span is None:
            run.context.span = app.telemetry.running(run.popped, run.sent)
    envelope = open_envelope(app, run.sent)
    run.task = envelope.task
    wanted = envelope.task.signature.context_name
    if wanted is not None:
        envelope.arguments[wanted] = run.context
    return envelope
