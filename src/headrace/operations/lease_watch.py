"""Find lost leases through messages and regular checks, and notify the holders of these leases."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Sequence
from math import inf
from typing import Protocol

import msgspec

from headrace.engine import keys
from headrace.engine.call import Answer, Call, build
from headrace.errors import HeadraceError
from headrace.operations.batches import Row, in_batches
from headrace.operations.channel_listener import ListeningState, receive
from headrace.operations.core import Core
from headrace.operations.held_leases import HeldLeases, Proof, log
from headrace.operations.requests import LONGEST_PAUSE
from headrace.transport.drive import Operation, Sleep

# The seconds between two checks. If the notice of a lost lease or of a waiting job did not arrive,
# a check finds the lease or the job.
CHECK_EVERY = 5.0

# A lost lease: why it was lost ("cancelled" or "lost"), then its job id and token.
LostLease = tuple[str, Proof]


class LeaseRegistry(Protocol):
    """Records which leases a worker holds."""

    def proofs(self) -> list[Proof]:
        """Return the job id and the token of each lease that the worker should still hold."""
        ...

    def expects(self, proof: Proof) -> bool:
        """Return whether the worker should still hold this lease."""
        ...


def lease_notices(core: Core, held_leases: HeldLeases) -> ListeningState[LostLease]:
    """Return the state for listening to notices of lost leases on every shard."""
    channels = [
        core.channel(shard, keys.worker_channel, held_leases.worker) for shard in range(core.shards)
    ]
    return ListeningState(
        core,
        channels,
        read_lease_notice,
        lambda: find_lost_leases(core, held_leases),
        wait=CHECK_EVERY,
    )


def read_lease_notice(_channel: str, message: bytes) -> Iterable[LostLease]:
    """Read a message from a worker's channel: a lost lease, and the reason for the loss."""
    try:
        why, job_id, token = msgspec.msgpack.decode(message, type=tuple[str, str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Ignore a malformed message, because other programs may publish anything on this channel.
        return []
    return [(why, (job_id, token))]


def find_lost_leases(
    core: Core, held_leases: LeaseRegistry, shards: Container[int] | None = None
) -> Operation[list[LostLease]]:
    """Ask the server about all held leases, or those on some shards, and return the lost leases."""
    proofs = held_leases.proofs()
    if shards is not None:
        proofs = [proof for proof in proofs if core.shard_of(proof[0]) in shards]
    answers = yield from in_batches(core, proofs, _check_call)
    return [
        (why, proof)
        for proof, why in zip(proofs, answers, strict=True)
        if why != "held" and held_leases.expects(proof)
    ]


def _check_call(proofs: Sequence[Proof]) -> Call[list[str]]:
    def decode(answers: list[bytes]) -> list[str]:
        return [answer.decode() for answer in answers]

    return build("check_leases", decode, proofs)


def watch_leases(state: ListeningState[LostLease], held_leases: HeldLeases) -> Operation[None]:
    """Report lost leases until the listener is closed; check leases every CHECK_EVERY seconds."""
    checked_at = time.monotonic()
    while not state.ended:
        try:
            found = yield from receive(state)
            if time.monotonic() >= checked_at + CHECK_EVERY:
                checked_at = time.monotonic()
                found += yield from find_lost_leases(state.core, held_leases)
            for why, proof in found:
                held_leases.mark_lost(why, proof)
        except HeadraceError:
            log.warning(
                "cannot check the leases of worker %r; lost leases are not noticed; retrying",
                held_leases.worker,
            )
            checked_at = -inf
            yield Sleep(LONGEST_PAUSE)


def while_finishing(
    core: Core, rows: Sequence[Row], operation: Operation[list[Answer]]
) -> Operation[list[Answer]]:
    """Run an operation that finishes leases; the finished leases do not count as lost.

    Each row begins with a job id and a token.
    """
    if not core.held_leases:
        return (yield from operation)
    proofs = [(str(row[0]), str(row[1])) for row in rows]
    every = tuple(core.held_leases)
    for held_leases in every:
        held_leases.begin_finish(proofs)
    finished: list[Proof] = []
    try:
        answers = yield from operation
        finished = [
            proof
            for proof, answer in zip(proofs, answers, strict=True)
            if not isinstance(answer, HeadraceError)
        ]
    finally:
        for held_leases in every:
            held_leases.finished(finished)
            held_leases.end_finish(proofs)
    return answers
