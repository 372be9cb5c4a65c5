"""Groups of jobs, sync and async."""

from __future__ import annotations

from headrace.operations import dependencies
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, SyncMethods, method


class GroupBase:
    """The methods that Group and AsyncGroup share."""

    pending = method(dependencies.pending)
    put = method(dependencies.put_member)
    put_many = method(dependencies.put_members)
    then = method(dependencies.then)

    def __init__(self, core: Core, name: str | None) -> None:
        self.core = core
        self.name = dependencies.group_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


class Group(GroupBase, SyncMethods):
    """A group of jobs. A job that is put with `then` starts when all members are finished.

    The members may be in different queues.

        group = client.group()
        group.put_many("resize", images)
        group.then("notify", {"to": "ada@example.org"})
    """


class AsyncGroup(GroupBase, AsyncMethods):
    """The asyncio form of Group."""
