"""Jobs are cancelled by their ids, those first on which no other of them depends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.bulk import in_steps
from headrace.errors import HasDependents, HeadraceError, JobNotFound

if TYPE_CHECKING:
    from headrace import Client


def cancel_all(
    client: Client, ids: Sequence[str], state: str | None, *, cascade: bool
) -> list[object]:
    """Cancels jobs that are still in the state; for each what it was, or why it was refused."""
    known = {job.id for job in client.jobs(ids)} if cascade else set()
    answers: dict[str, object] = {}
    # What depends on a job was mostly put after it.
    left = list(reversed(ids))
    while True:
        answers |= zip(left, _cancelled(client, left, state, cascade=cascade), strict=True)
        refused = [one for one in left if isinstance(answers[one], HasDependents)]
        if not refused or len(refused) == len(left):
            break
        left = refused
    depended_on = {job.id: job.dependents for job in client.jobs(refused)}
    return [
        _told(one, answers[one], depended_on.get(one, []), was_there=one in known) for one in ids
    ]


def _cancelled(
    client: Client, ids: Sequence[str], state: str | None, *, cascade: bool
) -> list[object]:
    from headrace.operations.failures import cancel_chosen  # noqa: PLC0415
    from headrace.transport.drive import drive  # noqa: PLC0415  redis takes long to load

    def act(part: Sequence[str]) -> Sequence[object]:
        transport = client.core.transport
        return drive(transport, cancel_chosen(client, part, state=state, cascade=cascade))

    return in_steps(ids, act, "cancelled")


def _told(job_id: str, answer: object, dependents: Sequence[str], *, was_there: bool) -> object:
    if isinstance(answer, JobNotFound) and was_there:
        # It went with one on which it depended.
        return "cancelled"
    if isinstance(answer, HasDependents):
        named = ", ".join(map(repr, dependents))
        return HeadraceError(
            f"job {job_id!r} is what others depend on ({named}): name them too, or give --cascade"
        )
    return answer
