"""A lease: a job that is yours until its deadline, and what you may say of it."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from headrace.client.bind import awaiting, blocking
from headrace.client.core import Core
from headrace.client.talks import ending
from headrace.client.talks.popping import Popped
from headrace.client.values import Job, read_job
from headrace.engine.moments import moment


class LeaseFacts:
    """What a lease knows without asking the server."""

    def __init__(self, core: Core, popped: Popped) -> None:
        self.core = core
        self.id = popped.id
        self.token = popped.record.token
        self.attempt = popped.record.attempt
        self.queue = popped.record.queue
        self.worker = popped.record.worker
        self.payload = popped.payload
        self._popped = popped

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, attempt {self.attempt}>"

    @property
    def data(self) -> Any:
        """The user's data, decoded."""
        return self.core.codec.decode(self.payload)

    @property
    def popped_at(self) -> datetime:
        """When it was handed out, by the server's clock."""
        return moment(self._popped.record.since)

    @cached_property
    def job(self) -> Job:
        """The job as it was when it was handed out."""
        described = [self.id.encode(), self._popped.packed, self.payload, b"", (None, None), [], 0]
        return read_job(self.core.codec, described)


class Lease(LeaseFacts):
    """A job that is yours, for code that blocks."""

    complete = blocking(ending.complete)
    fail = blocking(ending.fail)
    heartbeat = blocking(ending.heartbeat)
    log = blocking(ending.log)
    progress = blocking(ending.progress)
    release = blocking(ending.release)


class AsyncLease(LeaseFacts):
    """A job that is yours, for code that awaits."""

    complete = awaiting(ending.complete)
    fail = awaiting(ending.fail)
    heartbeat = awaiting(ending.heartbeat)
    log = awaiting(ending.log)
    progress = awaiting(ending.progress)
    release = awaiting(ending.release)
