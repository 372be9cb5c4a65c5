"""Shell completion for the names of queues and failure types.

A completion never starts a server and never shows an error. If the server does not answer within
TIMEOUT seconds, the shell offers nothing.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial

import click
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from headrace.engine import keys
from headrace.engine.shard import prefix
from headrace.local_server import embedded

TIMEOUT = 0.4
MAX_NAMES = 200

# Any program that puts jobs can choose the name of a queue or failure type. Completion offers only
# names that a shell cannot evaluate after the insertion: names without a character that is special
# even between double quotes, and names that do not look like an option. Quoting other names is not
# enough, because the word may already be inside quotes.
_SAFE = re.compile(r"[^-$`\\!][^$`\\!]*")


def _names(role: str, ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names that start with the incomplete word, from a sorted set of the namespace."""
    found: list[str] = []
    with suppress(Exception):
        found = _read(ctx.params.get("url"), ctx.params.get("namespace") or "default", role)
    safe = (name for name in found if name.isprintable() and _SAFE.fullmatch(name))
    return [_quoted(name) for name in safe if name.startswith(incomplete)]


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


queue_names = partial(_names, keys.QUEUES)
failure_types = partial(_names, keys.FAILURE_TYPES)
