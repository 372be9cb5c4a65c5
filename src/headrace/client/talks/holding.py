"""Holders hear at once that a job was taken from them; after a silence the server is asked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import inf
from typing import Protocol

import msgspec

from headrace.client.batches import Row, in_batches
from headrace.client.core import Core
from headrace.client.holdings import Holdings, Proof, log
from headrace.client.listening import Station, hear
from headrace.client.talk import LONGEST_PAUSE, Sleep, Talk
from headrace.engine.call import Answer, Call, build
from headrace.errors import HeadraceError

LOOK_EVERY = 5.0

Taken = tuple[str, Proof]


class Held(Protocol):
    """Who knows which leases a worker holds."""

    @property
    def worker(self) -> str: ...

    def proofs(self) -> list[Proof]: ...

    def expects(self, proof: Proof) -> bool: ...


def station_of(core: Core, holdings: Holdings) -> Station[Taken]:
    """What a worker listens to: its channel on every shard."""
    channels = [core.channel(shard, "worker", holdings.worker) for shard in range(core.shards)]
    return Station(core, channels, read_taken, lambda: missed(core, holdings), wait=LOOK_EVERY)


def read_taken(_channel: str, message: bytes) -> Iterable[Taken]:
    """What a message on the channel of a worker says: which lease was taken, and why."""
    try:
        why, job_id, token = msgspec.msgpack.decode(message, type=tuple[str, str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Whoever may publish may say anything.
        return []
    return [(why, (job_id, token))]


def missed(core: Core, holdings: Held) -> Talk[list[Taken]]:
    """Which leases were taken while nobody heard of it."""
    proofs = holdings.proofs()
    answers = yield from in_batches(core, proofs, _holds)
    return [
        (why, proof)
        for proof, why in zip(proofs, answers, strict=True)
        if why != "held" and holdings.expects(proof)
    ]


def _holds(proofs: Sequence[Proof]) -> Call[list[str]]:
    def decode(answers: list[bytes]) -> list[str]:
        return [answer.decode() for answer in answers]

    return build("check_leases", decode, proofs)


def watching(station: Station[Taken], holdings: Holdings) -> Talk[None]:
    """Hears until the station is closed. What notices do not tell is asked for now and then."""
    looked = time.monotonic()
    while not station.ended:
        try:
            found = yield from hear(station)
            if time.monotonic() >= looked + LOOK_EVERY:
                looked = time.monotonic()
                found += yield from missed(station.core, holdings)
            for why, proof in found:
                holdings.take(why, proof)
        except HeadraceError:
            log.warning("worker %r does not hear what is taken from it", holdings.worker)
            looked = -inf
            yield Sleep(LONGEST_PAUSE)


def letting_go(core: Core, rows: Sequence[Row], talk: Talk[list[Answer]]) -> Talk[list[Answer]]:
    """A talk by which a holder ends leases; those it has ended are taken by nobody.

    Rows begin with an id and a token.
    """
    if not core.holdings:
        return (yield from talk)
    proofs = [(str(row[0]), str(row[1])) for row in rows]
    every = tuple(core.holdings)
    for holdings in every:
        holdings.begin_end(proofs)
    ended: list[Proof] = []
    try:
        answers = yield from talk
        ended = [
            proof
            for proof, answer in zip(proofs, answers, strict=True)
            if not isinstance(answer, HeadraceError)
        ]
    finally:
        for holdings in every:
            holdings.leave(ended)
            holdings.keep(proofs)
    return answers
