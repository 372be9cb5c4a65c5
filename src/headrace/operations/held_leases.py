"""The leases that a program holds for a worker, so that it learns when one is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

# Job id and token. All jobs of one pop share a secret, so a token alone may belong to several jobs.
Proof = tuple[str, str]

# Remembered notices about leases that pop has not returned yet. Notices about leases of other
# clients with the same worker name are among them, so the number is bounded.
MAX_EARLY_NOTICES = 1000

log = logging.getLogger("headrace")


class HeldLeases:
    """The held leases of one worker.

    Threads share it without a lock, because a fork could leave a lock closed in the child. Every
    step is one atomic operation of a dict. If two threads find the same lost lease, the one that
    removes it from the dict notifies it.
    """

    def __init__(self, worker: str, on_taken: Callable[[Any, str], object] | None) -> None:
        self.worker = worker
        self._on_taken = on_taken
        self._leases: WeakValueDictionary[Proof, Any] = WeakValueDictionary()
        self._early_notices: dict[Proof, str] = {}
        self._finishing: dict[Proof, None] = {}

    def add(self, lease: Any) -> None:
        """Add a lease that pop returned; notify it at once if a notice was faster."""
        proof = (lease.id, lease.token)
        self._leases[proof] = lease
        why = self._early_notices.pop(proof, None)
        if why is not None:
            self._notify(proof, why)

    def mark_lost(self, why: str, proof: Proof) -> None:
        """Notify a lease that it was cancelled or lost; remember the notice if it is unknown."""
        if self._notify(proof, why):
            return
        self._early_notices[proof] = why
        if proof in self._leases and self._early_notices.pop(proof, ""):
            self._notify(proof, why)
        elif len(self._early_notices) > MAX_EARLY_NOTICES:
            oldest = next(iter(tuple(self._early_notices)))
            self._early_notices.pop(oldest, "")

    def _notify(self, proof: Proof, why: str) -> bool:
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

    # A lease that its holder finishes is not lost.

    def begin_finish(self, proofs: Iterable[Proof]) -> None:
        """Ignore the loss of leases that their holder is finishing."""
        self._finishing.update(dict.fromkeys(proofs))

    def finished(self, proofs: Iterable[Proof]) -> None:
        """Forget leases that their holder has finished."""
        for proof in proofs:
            self._leases.pop(proof, None)
            self._finishing.pop(proof, None)

    def end_finish(self, proofs: Iterable[Proof]) -> None:
        """Expect leases to be held again that their holder did not finish after all."""
        for proof in proofs:
            self._finishing.pop(proof, None)

    def proofs(self) -> list[Proof]:
        """Return the proofs of the leases that should still be held."""
        held = [lease for ref in self._leases.valuerefs() if (lease := ref()) is not None]
        return [proof for lease in held if self.expects(proof := (lease.id, lease.token))]

    def expects(self, proof: Proof) -> bool:
        """Return whether this lease should still be held."""
        return proof in self._leases and proof not in self._finishing
