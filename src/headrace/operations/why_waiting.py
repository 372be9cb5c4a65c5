"""Explain in words why a job does not run yet."""

from __future__ import annotations

from typing import Any

from headrace.engine.call import Call, build, is_refusal
from headrace.engine.check import text
from headrace.engine.settings import rate_from_wire
from headrace.engine.timestamps import moment_or_none
from headrace.errors import JobNotFound
from headrace.operations.protocols import ClientLike
from headrace.operations.requests import ask_one, unchanged
from headrace.transport.drive import Operation


def why_waiting(client: ClientLike, job_id: str) -> Operation[str]:
    """Explain in words what a job waits for, such as a limit, a dependency or preceding jobs.

    Raises JobNotFound if there is no such job.

        client.why_waiting("order-7")  # 'key acme: 3 of 3 running, next slot in about 12 s'
    """
    core = client.core
    text("id", job_id, core.limits.name)
    call: Call[Any] = build("explain_wait", unchanged, id=job_id)
    reply = yield from ask_one(core, core.shard_of(job_id), call)
    if is_refusal(reply):
        raise JobNotFound(job_id)
    return _in_words(reply)


def _in_words(reply: list[Any]) -> str:
    state, queue, paused, score, worker, before, closed, dependencies = reply
    name = queue.decode()
    if state == b"waiting":
        reasons = [f"queue {name} is paused"] if paused else []
        reasons += [_describe_gate(name, gate) for gate in closed]
        if before:
            reasons.append(f"{_jobs(before)} before it")
        return "; ".join(reasons) or f"nothing: the next pop of queue {name} gets the job"
    if state == b"scheduled":
        return f"scheduled: due at {moment_or_none(score)}"
    if state == b"blocked":
        return f"blocked: {', '.join(sorted(map(_dependency, dependencies)))} not complete yet"
    if state == b"running":
        return f"the job is not waiting: worker {worker.decode()} runs the job"
    return f"the job is not waiting: its state is {state.decode()}"


def _dependency(name: bytes) -> str:
    return f"group {name[1:].decode()}" if name[:1] == b"\0" else f"job {name.decode()}"


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"


def _describe_gate(queue: str, gate: list[Any]) -> str:
    name, running, concurrency, rate, opens, expected = gate
    limit = _limit_name(queue, name.decode())
    if concurrency != b"" and running >= int(concurrency):
        # A slot opens at the latest when a lease expires, but jobs usually finish sooner.
        durations = [float(duration) for duration in (opens, expected) if duration != b""]
        when = f", next slot in about {_seconds(min(durations))}" if durations else ""
        return f"{limit}: {running} of {int(concurrency)} running{when}"
    when = f", next start in {_seconds(float(opens))}" if opens != b"" else ""
    return f"{limit}: {rate_from_wire(rate.decode())} used up{when}"


def _limit_name(queue: str, gate: str) -> str:
    if not gate:
        return f"queue {queue}"
    return f"throttle {gate[1:]}" if gate[0] == "t" else f"key {gate.partition(chr(0))[2]}"


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms < 9950 else f"{ms / 1000:.0f} s"
