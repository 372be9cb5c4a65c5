"""The leases that a program holds for a worker, with notices about lost leases."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

# The job id and the token of a lease. The jobs of one pop share a secret, so a token alone does not
# identify a lease.
Proof = tuple[str, str]

# The maximum number of stored notices about leases that pop has not returned yet. Without a
# maximum, notices about leases of other clients with the same worker name would accumulate.
MAX_EARLY_NOTICES = 1000

log = logging.getLogger("headrace")


class HeldLeases:
    """The held leases of one worker.

    Threads share this object without a lock, because a fork could leave a lock held forever in the
    child. Every step is one atomic dict operation. If two threads find the same lost lease, only
    the thread that removes the lease from the dict reports the loss.
    """

    def __init__(self, worker: str, on_taken: Callable[[Any, str], object] | None) -> None:
        self.worker = worker
        self._on_taken = on_taken
        self._leases: WeakValueDictionary[Proof, Any] = WeakValueDictionary()
        self._early_notices: dict[Proof, str] = {}
        self._finishing: dict[Proof, None] = {}

    def add(self, lease: Any) -> None:
        """Add a lease that pop returned; report its loss if the notice has already arrived."""
        proof = (lease.id, lease.token)
        self._leases[proof] = lease
        why = self._early_notices.pop(proof, None)
        if why is not None:
            self._notify(proof, why)

    def mark_lost(self, why: str, proof: Proof) -> None:
        """Report that a lease was cancelled or lost; store the notice if the lease is unknown."""
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

    # A lease does not count as lost while its holder finishes the job.

    def begin_finish(self, proofs: Iterable[Proof]) -> None:
        """Until the holder has finished the jobs, do not report these leases as lost."""
        self._finishing.update(dict.fromkeys(proofs))

    def finished(self, proofs: Iterable[Proof]) -> None:
        """Remove leases whose holder has finished the jobs."""
        for proof in proofs:
            self._leases.pop(proof, None)
            self._finishing.pop(proof, None)

    def end_finish(self, proofs: Iterable[Proof]) -> None:
        """Report these leases as lost again from now on, unless `finished` has removed them."""
        for proof in proofs:
            self._finishing.pop(proof, None)

    def proofs(self) -> list[Proof]:
        """Return the job id and the token of each lease that the worker should still hold."""
        held = [lease for ref in self._leases.valuerefs() if (lease := ref()) is not None]
        return [proof for lease in held if self.expects(proof := (lease.id, lease.token))]

    def expects(self, proof: Proof) -> bool:
        """Return whether the worker should still hold this lease."""
        return proof in self._leases and proof not in self._finishing
