"""Shell completion for the names of queues and failure types.

A completion never starts a server and never shows an error. If the server does not answer within
TIMEOUT seconds, the shell offers nothing.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

import click
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from headrace.engine import keys
from headrace.engine.shard import prefix
from headrace.local_server import embedded

TIMEOUT = 0.4
MAX_NAMES = 200

# Any program can choose a name. A name that a shell could evaluate after the name was inserted is
# not offered: names with characters that are special even between double quotes, and names that
# look like an option. Quoting is not enough, because the word may already be inside quotes.
_SAFE = re.compile(r"[^-$`\\!][^$`\\!]*")


def queue_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the queues whose names start with the incomplete word."""
    return _names(ctx, keys.QUEUES, incomplete)


def failure_types(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the failure types that start with the incomplete word."""
    return _names(ctx, keys.FAILURE_TYPES, incomplete)


def _names(ctx: click.Context, role: str, incomplete: str) -> list[str]:
    found: list[str] = []
    with suppress(Exception):
        found = _read(ctx.params.get("url"), ctx.params.get("namespace") or "default", role)
    return [_quoted(name) for name in found if name.startswith(incomplete) and _is_safe(name)]


def _is_safe(name: str) -> bool:
    return name.isprintable() and _SAFE.fullmatch(name) is not None


def _read(url: str | None, namespace: str, role: str) -> list[str]:
    running = None if url else embedded.status()
    url = url or (running.url if running else None)
    # Sentinels must not receive the password of the Redis server.
    if not url or "+sentinel" in url:
        return []
    options = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    with Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options) as server:
        names = server.zrange(prefix(namespace, 0) + role, 0, MAX_NAMES - 1)
    return [name.decode() for name in names]


def _quoted(name: str) -> str:
    """Quote a name for bash, which inserts completions unchanged.

    Every backslash is doubled, because the `read` command in Click's completion script removes one
    backslash.
    """
    if os.environ.get("_HEADRACE_COMPLETE") != "bash_complete":
        return name
    return re.sub(r"([^\w@%+=:,./-])", r"\\\\\1", name)
