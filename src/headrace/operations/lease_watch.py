"""Notify the holders of lost leases: by messages, and by a check now and then."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import inf
from typing import Protocol

import msgspec

from headrace.engine.call import Answer, Call, build
from headrace.errors import HeadraceError
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.held_leases import HeldLeases, Proof, log
from headrace.operations.listening import ListeningState, receive
from headrace.operations.requests import LONGEST_PAUSE
from headrace.transport.drive import Operation, Sleep

# Seconds between two checks, in case a message was lost.
CHECK_EVERY = 5.0

# Why a lease was lost ("cancelled" or "lost"), and which one.
LostLease = tuple[str, Proof]


class LeaseRegistry(Protocol):
    """An object that knows which leases a worker holds."""

    @property
    def worker(self) -> str:
        """The name of the worker."""
        ...

    def proofs(self) -> list[Proof]:
        """Return the proofs of the leases that should still be held."""
        ...

    def expects(self, proof: Proof) -> bool:
        """Return whether this lease should still be held."""
        ...


def lease_notices(core: Core, held_leases: HeldLeases) -> ListeningState[LostLease]:
    """Return a listener to the channel of a worker on every shard."""
    channels = [core.channel(shard, "worker", held_leases.worker) for shard in range(core.shards)]
    return ListeningState(
        core,
        channels,
        read_lease_notice,
        lambda: find_lost_leases(core, held_leases),
        wait=CHECK_EVERY,
    )


def read_lease_notice(_channel: str, message: bytes) -> Iterable[LostLease]:
    """Read a message on the channel of a worker: which lease was lost, and why."""
    try:
        why, job_id, token = msgspec.msgpack.decode(message, type=tuple[str, str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Other programs may publish anything on this channel.
        return []
    return [(why, (job_id, token))]


def find_lost_leases(core: Core, held_leases: LeaseRegistry) -> Operation[list[LostLease]]:
    """Return the leases that were lost although no message arrived."""
    proofs = held_leases.proofs()
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
    """Notify lost leases until the listener is closed; check every CHECK_EVERY seconds."""
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
    """Run an operation that finishes leases; leases that it finishes do not count as lost.

    Each row begins with an id and a token.
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
