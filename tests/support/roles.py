"""Users of a namespace with the permissions that `headrace acl` prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import redis

import headrace
from headrace import Client
from headrace.engine.rights import acl_rules


@contextmanager
def user_url(url: str, role: str, namespace: str, shards: int = 1) -> Iterator[str]:
    """Create a user with a role; yield the URL of the server for this user."""
    name = f"{role}-{uuid4().hex[:12]}"
    with redis.Redis.from_url(url) as admin:
        admin.execute_command(
            *("ACL", "SETUSER", name, "on", ">secret"), *acl_rules(role, namespace, shards)
        )
        try:
            yield url.replace("://", f"://{name}:secret@")
        finally:
            admin.execute_command("ACL", "DELUSER", name)


@contextmanager
def opened_as(role: str, url: str, like: Client) -> Iterator[Client]:
    """Open a client for a user with a role, on the namespace and with the library of a client."""
    core = like.core
    with (
        user_url(url, role, core.namespace, core.shards) as own_url,
        headrace.connect(own_url, namespace=core.namespace, library=core.library) as client,
    ):
        yield client
