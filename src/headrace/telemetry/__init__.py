"""Telemetry: OpenTelemetry traces and Prometheus metrics. Both need the extra `telemetry`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headrace.app.app import App
from headrace.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from headrace.telemetry.server_metrics import ServerCollector

__all__ = ["ServerCollector", "instrument"]


def instrument(app: App, tracer_provider: TracerProvider | None = None) -> None:
    """Trace the puts and runs of an app: the put and all runs of a job form one trace.

    Without a provider, spans go to OpenTelemetry's global provider, even if that provider is set
    later. Raises MissingExtra if opentelemetry-api is not installed.

        app = headrace.App("shop")
        instrument(app)
    """
    require("tracing", "opentelemetry", "opentelemetry-api")
    from headrace.telemetry.tracing import OpenTelemetryTracing  # noqa: PLC0415 - of the extra

    app.telemetry = OpenTelemetryTracing(tracer_provider)


def require(what: str, module: str, package: str) -> None:
    """Raise MissingExtra if a package of the extra `telemetry` is not installed."""
    if find_spec(module) is None:
        raise MissingExtra(what, package, "telemetry")


def __getattr__(name: str) -> Any:
    if name == "ServerCollector":
        require("metrics", "prometheus_client", "prometheus-client")
        from headrace.telemetry.server_metrics import ServerCollector  # noqa: PLC0415

        return ServerCollector
    raise AttributeError(f"module 'headrace.telemetry' has no attribute {name!r}")
