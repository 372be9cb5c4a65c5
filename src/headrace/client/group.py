"""A group of jobs, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from headrace.client.bind import awaiting, blocking, named
from headrace.client.core import Core
from headrace.client.talks import depending


class GroupName:
    """What a group knows without asking the server: its name."""

    def __init__(self, core: Core, name: str | None) -> None:
        self.core = core
        self.name = depending.group_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


@named
class Group(GroupName):
    """Jobs that belong together, for code that blocks."""

    pending = blocking(depending.pending)
    put = blocking(depending.put_member)
    put_many = blocking(depending.put_members)
    then = blocking(depending.then)


@named
class AsyncGroup(GroupName):
    """Jobs that belong together, for code that awaits."""

    pending = awaiting(depending.pending)
    put = awaiting(depending.put_member)
    put_many = awaiting(depending.put_members)
    then = awaiting(depending.then)
