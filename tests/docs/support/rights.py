"""The users of docs/guides/operations.md, with exactly the permissions that the page lists."""

from __future__ import annotations

import redis

from tests.docs.support.pages import ROOT, blocks

PAGE = ROOT / "docs" / "guides" / "operations.md"
NAMESPACE = "shop"
USERS = ("worker", "producer", "observer", "pusher")


def rights(user: str) -> list[str]:
    """Return the ACL rules of a user on the page, split at spaces."""
    every = [block.text.split() for block in blocks(PAGE) if block.kind == "acl"]
    [rules] = [rules[3:] for rules in every if rules[:3] == ["user", user, "on"]]
    return rules


def add_users(url: str) -> dict[str, str]:
    """Create every user of the page; return the URL of the server for each."""
    with redis.Redis.from_url(url) as server:
        for user in USERS:
            server.execute_command("ACL", "SETUSER", user, "on", ">password", *rights(user))
    return {user: url.replace("://", f"://{user}:password@") for user in USERS}
