"""Telemetry: traces by OpenTelemetry, metrics by Prometheus. Comes with the extra `telemetry`."""

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
    """From now on puts and runs of the app are spans, of one trace each.

    Without a provider they go to the one that is set for the whole program, then or later.
    """
    require("tracing", "opentelemetry", "opentelemetry-api")
    from headrace.telemetry.tracing import Traces  # noqa: PLC0415 - a package of the extra

    app.telemetry = Traces(tracer_provider)


def require(what: str, module: str, package: str) -> None:
    """MissingExtra if a package of the extra is not there."""
    if find_spec(module) is None:
        raise MissingExtra(what, package, "telemetry")


def __getattr__(name: str) -> Any:
    if name == "ServerCollector":
        require("metrics", "prometheus_client", "prometheus-client")
        from headrace.telemetry.server_metrics import ServerCollector  # noqa: PLC0415

        return ServerCollector
    raise AttributeError(f"module 'headrace.telemetry' has no attribute {name!r}")
