"""`metrics`: serve the state of a namespace as Prometheus metrics."""

from __future__ import annotations

from contextlib import suppress

from prometheus_client import start_http_server

from headrace import Client
from headrace.cli import options
from headrace.cli.output import show
from headrace.errors import InvalidArgument
from headrace.telemetry.metrics_process import registry_of
from headrace.telemetry.server_metrics import ServerCollector

JOIN_SECONDS = 0.5


@options.client_command("metrics --port 9464 -n shop")
@options.port("--port", default=9464, help="Port to listen on, 0 for any free port.")
@options.address("--address")
def metrics(port: int, address: str, client: Client) -> None:
    """Serve the state of the queues as Prometheus metrics.

    The command runs until Ctrl-C.
    """
    registry = registry_of(ServerCollector(client))
    try:
        serving, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise InvalidArgument(
            f"cannot serve metrics on port {port} of {address}: {error}"
        ) from None
    namespace, used = client.core.namespace, serving.server_port
    sentence = f"serving metrics of {namespace} on port {used} of {address}; stop with Ctrl-C"
    with suppress(KeyboardInterrupt):
        show({"namespace": namespace, "address": address, "port": used}, sentence)
        # Without a timeout, Python can miss a Ctrl-C that arrives together with a request.
        while thread.is_alive():
            thread.join(JOIN_SECONDS)
    serving.shutdown()
    serving.server_close()
