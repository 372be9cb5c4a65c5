"""OpenTelemetry spans for each put and each run.

A put stores its trace headers in the job's data, so that every run of the job continues this trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

import headrace
from headrace.app.tracing_hooks import ReportIds
from headrace.operations.popping import Popped
from headrace.worker.task_call import Envelope, Failed, Outcome, outcome_name

SYSTEM = "headrace"
UNKNOWN = "unknown"


class JoinedRunSpan:
    """A run's span, reported by another process.

    Spans of this process are children of that span.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def enter(self) -> None:
        """Make this the current span of the running code."""
        contexts.attach(self._context)

    def carrier(self) -> dict[str, str]:
        """Return the trace headers with which another process can continue the span."""
        return _carried(self._context)

    def end(self, outcome: Outcome | None) -> None:
        """Do nothing: the other process ends the span."""


class OwnRunSpan(JoinedRunSpan):
    """A run's span, reported by this process."""

    def __init__(self, span: Span, parent: Context) -> None:
        super().__init__(trace.set_span_in_context(span, parent))
        self._span = span

    def end(self, outcome: Outcome | None) -> None:
        """End the span; `outcome` is None if the job was released or the lease was lost."""
        span = self._span
        name = "taken" if outcome is None else outcome_name(outcome)
        span.set_attribute("headrace.outcome", name)
        if isinstance(outcome, Failed):
            span.set_attribute("error.type", outcome.failure)
            if outcome.retry_in is not None:
                span.set_attribute("headrace.retry_in", outcome.retry_in)
            exception = {
                "exception.type": outcome.failure,
                "exception.message": outcome.message,
                "exception.stacktrace": outcome.traceback,
            }
            span.add_event("exception", {name: text for name, text in exception.items() if text})
            span.set_status(Status(StatusCode.ERROR, outcome.message))
        span.end()


class OpenTelemetryTracing:
    """Reports the puts and runs of an app to OpenTelemetry."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._provider = provider
        self._tracer = trace.get_tracer("headrace", headrace.__version__, provider)

    @contextmanager
    def sending(self, task: str, queue: str, datas: list[dict[str, Any]]) -> Iterator[ReportIds]:
        """Trace a put, and add the trace headers to the data of the jobs.

        Yield a function that the caller calls with the ids of the jobs.
        """
        attributes = _attributes("send", "put", queue, task)
        if len(datas) != 1:
            attributes["messaging.batch.message_count"] = len(datas)
        with self._tracer.start_as_current_span(
            f"put {task}", kind=SpanKind.PRODUCER, attributes=attributes
        ) as span:
            self.carry(datas)

            def report_ids(ids: list[str]) -> None:
                if len(ids) == 1:
                    span.set_attribute("messaging.message.id", ids[0])

            yield report_ids

    def carry(self, datas: list[dict[str, Any]]) -> None:
        """Add the headers of the current trace to the data of jobs."""
        carrier = _carried(contexts.get_current())
        if carrier:
            for data in datas:
                data["trace"] = carrier

    def begin_run(self, popped: Popped, envelope: Envelope | None) -> OwnRunSpan:
        """Begin the span of a run, as a child of the put's span."""
        record = popped.record
        task = envelope.task if envelope else UNKNOWN
        carried = envelope.trace if envelope and envelope.trace else {}
        # The empty context keeps the current span of the worker from becoming the parent.
        parent = propagate.extract(carried, context=Context())
        span = self._tracer.start_span(
            f"run {task}",
            context=parent,
            kind=SpanKind.CONSUMER,
            attributes=_attributes("process", "run", record.queue, task)
            | {
                "messaging.message.id": popped.id,
                "messaging.client.id": record.worker,
                "headrace.attempt": record.attempt,
                "headrace.wait": (record.since - record.put_at) / 1000,
            },
        )
        return OwnRunSpan(span, parent)

    def join_run(self, carrier: dict[str, str]) -> JoinedRunSpan:
        """Continue the span of a run that another process reports."""
        return JoinedRunSpan(propagate.extract(carrier, context=Context()))

    def flush(self) -> None:
        """Export all finished spans."""
        flush = getattr(self._provider or trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush()


def _carried(context: Context) -> dict[str, str]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier, context)
    return carrier


def _attributes(kind: str, name: str, queue: str, task: str) -> dict[str, str | int | float]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.type": kind,
        "messaging.operation.name": name,
        "messaging.destination.name": queue,
        "headrace.task": task,
    }
