"""Holders hear at once that a job was taken from them; after a silence the server is asked."""

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

LOOK_EVERY = 5.0

Taken = tuple[str, Proof]


class Held(Protocol):
    """Who knows which leases a worker holds."""

    @property
    def worker(self) -> str: ...

    def proofs(self) -> list[Proof]: ...

    def expects(self, proof: Proof) -> bool: ...


def lease_notices(core: Core, held_leases: HeldLeases) -> ListeningState[Taken]:
    """What a worker listens to: its channel on every shard."""
    channels = [core.channel(shard, "worker", held_leases.worker) for shard in range(core.shards)]
    return ListeningState(
        core, channels, read_taken, lambda: missed(core, held_leases), wait=LOOK_EVERY
    )


def read_taken(_channel: str, message: bytes) -> Iterable[Taken]:
    """What a message on the channel of a worker says: which lease was taken, and why."""
    try:
        why, job_id, token = msgspec.msgpack.decode(message, type=tuple[str, str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Whoever may publish may say anything.
        return []
    return [(why, (job_id, token))]


def missed(core: Core, held_leases: Held) -> Operation[list[Taken]]:
    """Which leases were taken while nobody heard of it."""
    proofs = held_leases.proofs()
    answers = yield from in_batches(core, proofs, _holds)
    return [
        (why, proof)
        for proof, why in zip(proofs, answers, strict=True)
        if why != "held" and held_leases.expects(proof)
    ]


def _holds(proofs: Sequence[Proof]) -> Call[list[str]]:
    def decode(answers: list[bytes]) -> list[str]:
        return [answer.decode() for answer in answers]

    return build("check_leases", decode, proofs)


def watch_leases(state: ListeningState[Taken], held_leases: HeldLeases) -> Operation[None]:
    """Hears until the station is closed. What notices do not tell is asked for now and then."""
    looked = time.monotonic()
    while not state.ended:
        try:
            found = yield from receive(state)
            if time.monotonic() >= looked + LOOK_EVERY:
                looked = time.monotonic()
                found += yield from missed(state.core, held_leases)
            for why, proof in found:
                held_leases.take(why, proof)
        except HeadraceError:
            log.warning("worker %r does not hear what is taken from it", held_leases.worker)
            looked = -inf
            yield Sleep(LONGEST_PAUSE)


def while_finishing(
    core: Core, rows: Sequence[Row], operation: Operation[list[Answer]]
) -> Operation[list[Answer]]:
    """A talk by which a holder ends leases; those it has ended are taken by nobody.

    Rows begin with an id and a token.
    """
    if not core.held_leases:
        return (yield from operation)
    proofs = [(str(row[0]), str(row[1])) for row in rows]
    every = tuple(core.held_leases)
    for held_leases in every:
        held_leases.begin_end(proofs)
    ended: list[Proof] = []
    try:
        answers = yield from operation
        ended = [
            proof
            for proof, answer in zip(proofs, answers, strict=True)
            if not isinstance(answer, HeadraceError)
        ]
    finally:
        for held_leases in every:
            held_leases.leave(ended)
            held_leases.keep(proofs)
    return answers
