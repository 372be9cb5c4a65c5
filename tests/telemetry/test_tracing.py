"""Spans of puts and runs, and their parents."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import headrace
from headrace.telemetry import instrument
from headrace.testing import Clock
from tests.support.servers import until
from tests.worker.support.site import Site

SHOP = "tests.telemetry.support.shop:app"

Bind = Callable[[headrace.App], headrace.App]


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


@pytest.fixture
def app(headrace_app: Bind, provider: TracerProvider) -> headrace.App:
    made = headrace_app(headrace.App("shop", backoff=headrace.Backoff(first=10, jitter=0)))
    instrument(made, provider)
    return made


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def test_put_and_run_form_one_trace(
    app: headrace.App, exporter: InMemorySpanExporter, headrace_clock: Clock
) -> None:
    @app.task(queue="mail")
    def send(to: str) -> None:
        pass

    job_id = send.put(to="ada")
    headrace_clock.tick(2)
    app.run_pending(reraise=True)

    spans = by_name(exporter)
    put, run = spans["put send"], spans["run send"]
    assert (put.kind, run.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert parent_of(run) == id_of(put)
    assert put.parent is None
    assert attributes(put) == {
        "messaging.system": "headrace",
        "messaging.operation.type": "send",
        "messaging.operation.name": "put",
        "messaging.destination.name": "mail",
        "messaging.message.id": job_id,
        "headrace.task": "send",
    }
    worker = attributes(run).pop("messaging.client.id")
    assert worker.startswith("run-pending-")
    assert attributes(run) == {
        "messaging.system": "headrace",
        "messaging.operation.type": "process",
        "messaging.operation.name": "run",
        "messaging.destination.name": "mail",
        "messaging.message.id": job_id,
        "messaging.client.id": worker,
        "headrace.task": "send",
        "headrace.attempt": 1,
        "headrace.wait": 2.0,
        "headrace.outcome": "completed",
    }


def test_put_many_makes_one_span(app: headrace.App, exporter: InMemorySpanExporter) -> None:
    @app.task(key=lambda number: f"key {number}")
    def count(number: int) -> None:
        pass

    count.put_many([{"number": 1}, {"number": 2}])
    app.run_pending(reraise=True)

    [put] = [span for span in exporter.get_finished_spans() if span.name == "put count"]
    runs = [span for span in exporter.get_finished_spans() if span.name == "run count"]
    assert attributes(put)["messaging.batch.message_count"] == 2
    assert "messaging.message.id" not in attributes(put)
    assert [parent_of(run) for run in runs] == [id_of(put)] * 2


async def test_spans_and_puts_of_a_task_are_children_of_its_run(
    app: headrace.App, exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    @app.task()
    async def leaf() -> None:
        with trace.get_tracer("t", tracer_provider=provider).start_as_current_span("inner"):
            pass

    @app.task()
    async def root() -> None:
        await leaf.aput()
        await leaf.aput_many([])

    await root.aput()
    await app.arun_pending(reraise=True)

    spans = by_name(exporter)
    assert parent_of(spans["put leaf"]) == id_of(spans["run root"])
    assert parent_of(spans["inner"]) == id_of(spans["run leaf"])
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_task_data_carries_the_current_trace(
    app: headrace.App, exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    @app.task()
    def nothing() -> None:
        pass

    with trace.get_tracer("t", tracer_provider=provider).start_as_current_span("outer"):
        app.client.queue("default").put(nothing.data())
    app.client.queue("default").put(nothing.data())
    app.run_pending(reraise=True)

    outer = by_name(exporter)["outer"]
    runs = [span for span in exporter.get_finished_spans() if span.name == "run nothing"]
    assert [parent_of(run) for run in runs] == [id_of(outer), None]


def test_failed_run_records_its_exception(
    app: headrace.App, exporter: InMemorySpanExporter
) -> None:
    @app.task(retries=1)
    def broken() -> None:
        raise LookupError("no")

    broken.put()
    app.run_pending()

    run = by_name(exporter)["run broken"]
    [event] = run.events
    recorded = dict(event.attributes or {})
    assert run.status.status_code is StatusCode.ERROR
    assert attributes(run)["headrace.outcome"] == "retried"
    assert attributes(run)["headrace.retry_in"] == 10
    assert attributes(run)["error.type"] == "LookupError"
    assert (recorded["exception.type"], recorded["exception.message"]) == ("LookupError", "no")
    assert 'raise LookupError("no")' in str(recorded["exception.stacktrace"])


@pytest.mark.parametrize(
    "data", ["text", {"task": "missing", "trace": {"traceparent": "nonsense"}}]
)
def test_job_that_cannot_be_run_has_a_span(
    app: headrace.App, exporter: InMemorySpanExporter, data: object
) -> None:
    app.client.queue("by hand").put(data, retries=0)
    app.run_pending()

    [run] = exporter.get_finished_spans()
    assert run.name in ("run unknown", "run missing")
    assert run.parent is None
    assert attributes(run)["headrace.outcome"] == "failed"


def test_failed_put_has_an_error_span(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    app = headrace.App("shop", url="redis://localhost:1", retry_for=0)
    instrument(app, provider)

    @app.task()
    def nothing() -> None:
        pass

    with pytest.raises(headrace.ServerUnavailable):
        nothing.put()

    [put] = exporter.get_finished_spans()
    assert put.status.status_code is StatusCode.ERROR
    assert [event.name for event in put.events] == ["exception"]


def test_inline_run_is_a_child_of_its_put(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    app = headrace.App("shop")
    instrument(app, provider)

    @app.task()
    def nothing() -> None:
        pass

    with app.inlined():
        nothing.put()

    spans = by_name(exporter)
    assert parent_of(spans["run nothing"]) == id_of(spans["put nothing"])


def test_put_without_a_provider_carries_no_trace(headrace_app: Bind) -> None:
    app = headrace_app(headrace.App("shop"))
    instrument(app)

    @app.task()
    def nothing() -> None:
        pass

    job = app.client.job(nothing.put())
    assert job is not None
    assert job.data == {"task": "nothing", "args": {}}
    assert [run.outcome for run in app.run_pending()] == ["completed"]


def spans_of(site: Site) -> list[dict[str, Any]]:
    file = site.home / "spans"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


CARRIED = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


def test_worker_continues_the_trace_in_loop_thread_and_process(site: Site) -> None:
    tasks = ("in_loop", "in_thread", "in_process", "broken")
    for task in tasks:
        site.queue.put({"task": task, "trace": CARRIED}, id=task, retries=0)

    site.work(app=SHOP, SHOP_SPANS=str(site.home / "spans"))

    until(lambda: len(spans_of(site)) == 7, "seven spans")
    spans = spans_of(site)
    runs = {span["attributes"]["headrace.task"]: span for span in spans if "run" in span["name"]}
    assert {span["context"]["trace_id"] for span in spans} == {"0x0af7651916cd43dd8448eb211c80319c"}
    assert {run["parent_id"] for run in runs.values()} == {"0xb7ad6b7169203331"}
    assert {name: run["attributes"]["headrace.outcome"] for name, run in runs.items()} == {
        "in_loop": "completed",
        "in_thread": "completed",
        "in_process": "completed",
        "broken": "failed",
    }
    inner = {span["parent_id"] for span in spans if span["name"] == "inner"}
    assert inner == {runs[task]["context"]["span_id"] for task in tasks[:3]}


def test_worker_exports_pending_spans_when_it_stops(site: Site) -> None:
    job_id = site.put("in_loop")
    work = site.work(app=SHOP, SHOP_SPANS=str(site.home / "spans"), SHOP_BATCHES="yes")
    site.wait_for("complete", job_id)

    work.signal(signal.SIGTERM)

    assert work.exit_code() == 0
    assert sorted(span["name"] for span in spans_of(site)) == ["inner", "run in_loop"]
