"""What the shell may offer: names from the server if it answers at once, otherwise nothing.

Nothing is started or written for it, and no error is shown. The word with the server is spoken over
a bare socket: loading redis takes longer than a shell should wait.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from headrace.engine.states import STATES

if TYPE_CHECKING:
    from socket import socket
    from urllib.parse import SplitResult

    import hiredis

PATIENCE = 0.4
MOST = 200


def queue_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Queues that begin so."""
    return _listed(ctx, "queues", incomplete)


def failure_types(ctx: typer.Context, incomplete: str) -> list[str]:
    """Failure types that begin so."""
    return _listed(ctx, "failure_types", incomplete)


def states(incomplete: str) -> list[str]:
    """States that begin so."""
    return [state for state in STATES if state.startswith(incomplete)]


def _listed(ctx: typer.Context, role: str, incomplete: str) -> list[str]:
    from threading import Thread  # noqa: PLC0415  other commands do without

    found: list[str] = []

    def look() -> None:
        # Whatever goes wrong, a shell that waits for words is no place to say so.
        with suppress(Exception):
            found.extend(_read(ctx, role))

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(PATIENCE)
    return [_typed(name) for name in found if name.startswith(incomplete) and name.isprintable()]


def _typed(name: str) -> str:
    """A name as it is typed: bash puts what it is offered into the line as it is."""
    if os.environ.get("_HEADRACE_COMPLETE") != "complete_bash":
        return name
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", name)


def _read(ctx: typer.Context, role: str) -> list[str]:
    from headrace.engine.shard import prefix  # noqa: PLC0415
    from headrace.local_server import embedded  # noqa: PLC0415

    running = None if ctx.params.get("url") else embedded.status()
    url = ctx.params.get("url") or (running and running.url)
    # What Sentinels are asked for is not what they keep, and the password is not theirs.
    if not url or "+sentinel" in url:
        return []
    key = prefix(ctx.params.get("namespace") or "default", 0) + role
    names: list[bytes] = _ask(url, ("ZRANGE", key, "0", str(MOST - 1)))
    return [name.decode() for name in names]


def _ask(url: str, command: tuple[str, ...]) -> Any:
    """The reply to a command."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    import hiredis  # noqa: PLC0415

    parts = urlsplit(url)
    commands = [*_greeting(parts), command]
    reader = hiredis.Reader()
    with _connected(parts) as connection:
        for words in commands:
            # Its types know only commands of one word.
            connection.sendall(hiredis.pack_command(words))  # type: ignore[arg-type]
        replies = [_reply(connection, reader) for _ in commands]
    return replies[-1]


def _reply(connection: socket, reader: hiredis.Reader) -> Any:
    while (reply := reader.gets()) is False:
        heard = connection.recv(1 << 16)
        if not heard:
            raise ConnectionError
        reader.feed(heard)
    if isinstance(reply, Exception):
        raise reply
    return reply


def _connected(parts: SplitResult) -> socket:
    import socket  # noqa: PLC0415
    from urllib.parse import unquote  # noqa: PLC0415

    if parts.scheme == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(unquote(parts.path))
        return connection
    host = parts.hostname or "localhost"
    connection = socket.create_connection((host, parts.port or 6379), PATIENCE)
    if parts.scheme == "rediss":
        import ssl  # noqa: PLC0415

        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    return connection


def _greeting(parts: SplitResult) -> list[tuple[str, ...]]:
    """Who asks, and for which database."""
    from urllib.parse import parse_qs, unquote  # noqa: PLC0415

    login = (unquote(parts.username or "default"), unquote(parts.password or ""))
    given = parse_qs(parts.query).get("db", [""])[0]
    database = given or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    return [("AUTH", *login)] * bool(parts.password) + [("SELECT", database)] * bool(database)
