"""Spans: one for a put, one for each run, and between them what travels with the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

import headrace
from headrace.app.tracing import Told
from headrace.operations.popping import Popped
from headrace.worker.metering import word
from headrace.worker.run import Done, Failed, Sent, Snoozed

SYSTEM = "headrace"
UNKNOWN = "unknown"


class Joined:
    """A run that another process tells of: what is traced here is part of it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def enter(self) -> None:
        contexts.attach(self._context)

    def carrier(self) -> dict[str, str]:
        return _carried(self._context)

    def end(self, outcome: Done | Failed | Snoozed | None) -> None:
        pass


class Running(Joined):
    """The span of a run."""

    def __init__(self, span: Span, parent: Context) -> None:
        super().__init__(trace.set_span_in_context(span, parent))
        self._span = span

    def end(self, outcome: Done | Failed | Snoozed | None) -> None:
        span = self._span
        span.set_attribute("headrace.outcome", "taken" if outcome is None else word(outcome))
        if isinstance(outcome, Failed):
            span.set_attribute("error.type", outcome.failure)
            if outcome.retry_in is not None:
                span.set_attribute("headrace.retry_in", outcome.retry_in)
            said = {
                "exception.type": outcome.failure,
                "exception.message": outcome.message,
                "exception.stacktrace": outcome.traceback,
            }
            span.add_event("exception", {name: text for name, text in said.items() if text})
            span.set_status(Status(StatusCode.ERROR, outcome.message))
        span.end()


class Traces:
    """What an app tells OpenTelemetry."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._provider = provider
        self._tracer = trace.get_tracer("headrace", headrace.__version__, provider)

    @contextmanager
    def sending(self, task: str, queue: str, datas: list[dict[str, Any]]) -> Iterator[Told]:
        attributes: dict[str, str | int] = {
            "messaging.system": SYSTEM,
            "messaging.operation.type": "send",
            "messaging.operation.name": "put",
            "messaging.destination.name": queue,
            "headrace.task": task,
        }
        if len(datas) != 1:
            attributes["messaging.batch.message_count"] = len(datas)
        with self._tracer.start_as_current_span(
            f"put {task}", kind=SpanKind.PRODUCER, attributes=attributes
        ) as span:
            self.carry(datas)

            def told(ids: list[str]) -> None:
                if len(ids) == 1:
                    span.set_attribute("messaging.message.id", ids[0])

            yield told

    def carry(self, datas: list[dict[str, Any]]) -> None:
        carrier = _carried(contexts.get_current())
        if carrier:
            for data in datas:
                data["trace"] = carrier

    def running(self, popped: Popped, sent: Sent | None) -> Running:
        record = popped.record
        task = sent.task if sent else UNKNOWN
        carried = sent.trace if sent and sent.trace else {}
        # Nothing that happens to be current in the worker is the cause of a job.
        parent = propagate.extract(carried, context=Context())
        span = self._tracer.start_span(
            f"run {task}",
            context=parent,
            kind=SpanKind.CONSUMER,
            attributes={
                "messaging.system": SYSTEM,
                "messaging.operation.type": "process",
                "messaging.operation.name": "run",
                "messaging.destination.name": record.queue,
                "messaging.message.id": popped.id,
                "messaging.client.id": record.worker,
                "headrace.task": task,
                "headrace.attempt": record.attempt,
                "headrace.wait": (record.since - record.put_at) / 1000,
            },
        )
        return Running(span, parent)

    def joining(self, carrier: dict[str, str]) -> Joined:
        return Joined(propagate.extract(carrier, context=Context()))

    def flush(self) -> None:
        flush = getattr(self._provider or trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush()


def _carried(context: Context) -> dict[str, str]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier, context)
    return carrier
