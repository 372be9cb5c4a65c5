"""An app with telemetry for tests. The app writes its spans to the file SHOP_SPANS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from prometheus_client import Counter

from headrace import App, Backoff, Snooze
from headrace.telemetry import instrument

SPANS = os.open(Path(os.environ["SHOP_SPANS"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
LETTERS = Counter("letters", "A metric of the app's own.")


class LineExporter(SpanExporter):
    """Writes spans to the file."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            os.write(SPANS, span.to_json(indent=None).encode() + b"\n")
        return SpanExportResult.SUCCESS


app = App(os.environ["SHOP_NAME"], backoff=Backoff(first=0.01, factor=1, jitter=0))
provider = TracerProvider()
if "SHOP_BATCHES" in os.environ:
    # These spans are exported only when the process exits, because the delay is longer than a test.
    provider.add_span_processor(BatchSpanProcessor(LineExporter(), schedule_delay_millis=600_000))
else:
    provider.add_span_processor(SimpleSpanProcessor(LineExporter()))
instrument(app, provider)


def inner() -> None:
    with trace.get_tracer("shop", tracer_provider=provider).start_as_current_span("inner"):
        LETTERS.inc()


@app.task()
async def in_loop() -> None:
    inner()


@app.task()
def in_thread() -> None:
    inner()


@app.task(run="process")
def in_process() -> None:
    inner()


@app.task(retries=1)
def broken() -> None:
    raise ValueError("no")


@app.task()
def tired() -> None:
    raise Snooze(3600)


@app.task()
def putting() -> None:
    in_loop.put()


@app.task()
def die() -> None:
    os._exit(1)
