"""`metrics`: the state of a namespace, for Prometheus."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, show
from headrace.errors import InvalidArgument


def metrics(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to serve; 0 is any free port.")
    ] = 9464,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Serve the state of the queues as Prometheus metrics, until Ctrl-C."""
    from prometheus_client import start_http_server  # noqa: PLC0415

    from headrace.telemetry import ServerCollector  # noqa: PLC0415 - of an extra
    from headrace.telemetry.serving import registry_of  # noqa: PLC0415

    with opened(url, namespace) as client:
        try:
            server, thread = start_http_server(port, registry=registry_of(ServerCollector(client)))
        except OSError as error:
            raise InvalidArgument(f"cannot serve metrics on port {port}: {error}") from None
        with suppress(KeyboardInterrupt):
            said = f"metrics of {namespace} at port {server.server_port}; Ctrl-C ends"
            show({"namespace": namespace, "port": server.server_port}, said, as_json=as_json)
            thread.join()
        server.shutdown()
        server.server_close()
