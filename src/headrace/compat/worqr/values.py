"""What worqr speaks of: a process."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from headrace.errors import InvalidArgument

ATTEMPT = re.compile("[0-9]{1,16}")


class Process(NamedTuple):
    """A task that is being worked on."""

    id: str
    task: Any


def process_id(job_id: str, attempt: int) -> str:
    """A process is one delivery of a job, so it is named by both."""
    return f"{attempt}_{job_id}"


def delivery(process: str) -> tuple[str, int]:
    """The job and the attempt that a process is."""
    if not isinstance(process, str):
        raise InvalidArgument(f"process must be a str, not {type(process).__name__}")
    attempt, _, job_id = process.partition("_")
    if not ATTEMPT.fullmatch(attempt) or not job_id:
        raise InvalidArgument(f"{process!r} is no process: take the id that startTask returned")
    return job_id, int(attempt)
