"""`metrics`: the state of a namespace as Prometheus metrics."""

from __future__ import annotations

from contextlib import suppress

from prometheus_client import start_http_server

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import show
from headrace.errors import InvalidArgument
from headrace.telemetry.server_metrics import ServerCollector
from headrace.telemetry.serving import registry_of


@options.command("metrics --port 9464 -n shop")
@options.port("--port", default=9464, help="Port to listen on, 0 for any free port; default: 9464.")
def metrics(port: int, server: ServerOptions) -> None:
    """Serve the state of the queues as Prometheus metrics until Ctrl-C."""
    with open_client(server) as client:
        registry = registry_of(ServerCollector(client))
        try:
            serving, thread = start_http_server(port, registry=registry)
        except OSError as error:
            raise InvalidArgument(f"cannot serve metrics on port {port}: {error}") from None
        used = serving.server_port
        sentence = f"serving metrics of {server.namespace} on port {used}; stop with Ctrl-C"
        with suppress(KeyboardInterrupt):
            show({"namespace": server.namespace, "port": used}, sentence)
            thread.join()
        serving.shutdown()
        serving.server_close()
