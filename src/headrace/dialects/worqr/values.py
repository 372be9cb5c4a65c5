"""What worqr speaks of: a process, and what is told when one is done."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from headrace.client.codec import Codec, Raw
from headrace.dialects.plain import Plain
from headrace.errors import InvalidArgument


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
    if not attempt.isascii() or not attempt.isdigit() or not job_id:
        raise InvalidArgument(f"{process!r} is no process: take the id that startTask returned")
    return job_id, int(attempt)


def done_item(codec: Codec, worker: str, task: Any, result: Any) -> Any:
    """What is told when a process is done, as something that the codec can write."""
    told = {"workerId": worker, "task": task, "result": result}
    if not isinstance(codec, Plain | Raw):
        return told
    texts = {
        name: value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
        for name, value in told.items()
    }
    return json.dumps(texts).encode()


def read_done(codec: Codec, item: Any) -> Any:
    """The same, as it is heard."""
    if not isinstance(codec, Plain | Raw):
        return item
    told = json.loads(item)
    if isinstance(codec, Raw):
        for name in ("task", "result"):
            if told[name] is not None:
                told[name] = told[name].encode(errors="surrogateescape")
    return told
