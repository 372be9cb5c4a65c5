"""Values that the shell offers for arguments: states, and names read from the server.

A completion never starts a server and never shows an error. It offers nothing if the server does
not answer within TIMEOUT seconds.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

import click
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from headrace.engine.shard import prefix
from headrace.engine.states import STATES
from headrace.local_server import embedded

TIMEOUT = 0.4
MAX_NAMES = 200


def queue_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the queues whose names start with the incomplete word."""
    return _names(ctx, "queues", incomplete)


def failure_types(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the failure types that start with the incomplete word."""
    return _names(ctx, "failure_types", incomplete)


def states(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the job states that start with the incomplete word."""
    return [state for state in STATES if state.startswith(incomplete)]


def _names(ctx: click.Context, role: str, incomplete: str) -> list[str]:
    found: list[str] = []
    with suppress(Exception):
        found = _read(ctx.params.get("url"), ctx.params.get("namespace") or "default", role)
    return [_quoted(name) for name in found if name.startswith(incomplete) and name.isprintable()]


def _read(url: str | None, namespace: str, role: str) -> list[str]:
    running = None if url else embedded.status()
    url = url or (running.url if running else None)
    # A Sentinel must not receive the password of the server that it watches.
    if not url or "+sentinel" in url:
        return []
    options = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    with Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options) as server:
        names = server.zrange(prefix(namespace, 0) + role, 0, MAX_NAMES - 1)
    return [name.decode() for name in names]


def _quoted(name: str) -> str:
    """Quote a name for bash, which inserts completions unchanged.

    The backslash is doubled because Click's script passes the name through `read`.
    """
    if os.environ.get("_HEADRACE_COMPLETE") != "bash_complete":
        return name
    return re.sub(r"([^\w@%+=:,./-])", r"\\\\\1", name)
