"""Which leases of a worker are in somebody's hands, so that each can be told when it is taken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

# Id and token: one pop gives all its jobs the same secret, so a token alone may be that of several.
Proof = tuple[str, str]

# Notices of leases that pop has not returned yet, and of those that other clients have.
EARLY = 1000

log = logging.getLogger("headrace")


class HeldLeases:
    """The leases of one worker.

    Threads share it without a lock: a fork may leave a lock behind that nobody opens. So every step
    is one of a dict, and of two that meet over a lease, the one that takes it out tells it.
    """

    def __init__(self, worker: str, on_taken: Callable[[Any, str], object] | None) -> None:
        self.worker = worker
        self._on_taken = on_taken
        self._leases: WeakValueDictionary[Proof, Any] = WeakValueDictionary()
        self._early: dict[Proof, str] = {}
        self._ending: dict[Proof, None] = {}

    def add(self, lease: Any) -> None:
        """A lease was handed out; it may have been taken already."""
        proof = (lease.id, lease.token)
        self._leases[proof] = lease
        why = self._early.pop(proof, None)
        if why is not None:
            self._tell(proof, why)

    def take(self, why: str, proof: Proof) -> None:
        """A lease was taken."""
        if self._tell(proof, why):
            return
        self._early[proof] = why
        if proof in self._leases and self._early.pop(proof, ""):
            self._tell(proof, why)
        elif len(self._early) > EARLY:
            oldest = next(iter(tuple(self._early)))
            self._early.pop(oldest, "")

    def _tell(self, proof: Proof, why: str) -> bool:
        lease = self._leases.pop(proof, None)
        if lease is None:
            return False
        lease.taken = lease.taken or why
        try:
            if self._on_taken is not None:
                self._on_taken(lease, why)
        except Exception:
            log.exception("on_taken of worker %r failed for job %r", self.worker, lease.id)
        return True

    # what the holder ends itself is not taken

    def begin_end(self, proofs: Iterable[Proof]) -> None:
        self._ending.update(dict.fromkeys(proofs))

    def leave(self, proofs: Iterable[Proof]) -> None:
        """Ended well."""
        for proof in proofs:
            self._leases.pop(proof, None)
            self._ending.pop(proof, None)

    def keep(self, proofs: Iterable[Proof]) -> None:
        """Not ended after all."""
        for proof in proofs:
            self._ending.pop(proof, None)

    def proofs(self) -> list[Proof]:
        """Those that should still hold."""
        held = [lease for ref in self._leases.valuerefs() if (lease := ref()) is not None]
        return [proof for lease in held if self.expects(proof := (lease.id, lease.token))]

    def expects(self, proof: Proof) -> bool:
        return proof in self._leases and proof not in self._ending
