"""What the shell may offer: names from the server if it answers at once, otherwise nothing.

Nothing is started or written for it, and no error is shown.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

import typer

PATIENCE = 0.4
MOST = 200


def queue_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Queues that begin so."""
    return _listed(ctx, "queues", incomplete)


def failure_types(ctx: typer.Context, incomplete: str) -> list[str]:
    """Failure types that begin so, the most frequent first."""
    return _listed(ctx, "failure_types", incomplete)


def states(incomplete: str) -> list[str]:
    """States that begin so."""
    from headrace.engine.states import STATES  # noqa: PLC0415

    return [state for state in STATES if state.startswith(incomplete)]


def _listed(ctx: typer.Context, role: str, incomplete: str) -> list[str]:
    found: list[str] = []

    def look() -> None:
        # Whatever goes wrong, a shell that waits for words is no place to say so.
        with suppress(Exception):
            found.extend(_read(ctx, role))

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(PATIENCE)
    return [name for name in found if name.startswith(incomplete)]


def _read(ctx: typer.Context, role: str) -> list[str]:
    from headrace.client import embedded  # noqa: PLC0415
    from headrace.engine.shard import prefix  # noqa: PLC0415

    running = None if ctx.params.get("url") else embedded.status()
    url = ctx.params.get("url") or (running and running.url)
    if not url:
        return []
    from redis import Redis  # noqa: PLC0415

    key = prefix(ctx.params.get("namespace") or "default", 0) + role
    with Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE) as server:
        names: list[bytes] = server.zrange(key, 0, MOST - 1)
    return [name.decode() for name in names]
