"""`metrics`: the state of a namespace, for Prometheus."""

from __future__ import annotations

import socket
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
    from headrace.telemetry import ServerCollector  # noqa: PLC0415 - of an extra
    from headrace.telemetry.serving import Server, registry_of  # noqa: PLC0415

    try:
        listening = socket.create_server(("", port))
    except OSError as error:
        raise InvalidArgument(f"metrics cannot be served at port {port}: {error}") from None
    with (
        listening,
        opened(url, namespace) as client,
        Server(listening, registry_of(ServerCollector(client))) as server,
        suppress(KeyboardInterrupt),
    ):
        said = f"metrics of {namespace} at port {server.server_port}; Ctrl-C ends"
        show({"namespace": namespace, "port": server.server_port}, said, as_json=as_json)
        server.serve_forever()
