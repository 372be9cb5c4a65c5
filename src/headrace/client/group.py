"""A group of jobs, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from headrace.operations import dependencies
from headrace.operations.core import Core
from headrace.operations.method import awaiting, blocking, named


class GroupName:
    """What a group knows without asking the server: its name."""

    def __init__(self, core: Core, name: str | None) -> None:
        self.core = core
        self.name = dependencies.group_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


@named
class Group(GroupName):
    """Jobs that belong together, for code that blocks."""

    pending = blocking(dependencies.pending)
    put = blocking(dependencies.put_member)
    put_many = blocking(dependencies.put_members)
    then = blocking(dependencies.then)


@named
class AsyncGroup(GroupName):
    """Jobs that belong together, for code that awaits."""

    pending = awaiting(dependencies.pending)
    put = awaiting(dependencies.put_member)
    put_many = awaiting(dependencies.put_members)
    then = awaiting(dependencies.then)
