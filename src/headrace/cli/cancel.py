"""`cancel`: jobs that are no longer wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from headrace.cli.bulk import agree, in_steps
from headrace.cli.choosing import Choice, check_choice, chosen, report
from headrace.cli.opening import existing, opened
from headrace.cli.options import (
    DryRun,
    Ids,
    InQueue,
    InState,
    Namespace,
    OfFailure,
    Url,
    WithTag,
    Yes,
)
from headrace.cli.put import as_json_value
from headrace.cli.show import AsJson
from headrace.cli.words import counted
from headrace.errors import HeadraceError, JobNotFound, WrongState


def cancel(
    ids: Ids = None,
    *,
    failure: OfFailure = None,
    queue: InQueue = None,
    state: InState = None,
    tag: WithTag = None,
    matching: Annotated[
        str | None,
        typer.Option("--matching", metavar="DATA", help="With --queue: that have these data."),
    ] = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="So many at most.")] = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also whatever depends on them.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Delete jobs: by their ids, or by failure, queue and state, tag, data.

    A job that runs is taken from its worker; one that is complete stays. What is cancelled is gone.
    """
    choice = Choice(failure=failure, queue=queue, tag=tag, state=state, count=count)
    check_choice(ids, choice, _way(choice, matching))
    data = None if matching is None else as_json_value(matching)
    with opened(url, namespace) as client:
        if matching is not None:
            found = list(client.matching(existing(client, queue or "").name, data))[:count]
        else:
            found = list(dict.fromkeys(ids or ())) or chosen(client, choice)
        if not ids and not dry_run:
            agree(f"Cancel {counted(len(found), 'job')}?", yes=yes or not found)

        def act(part: Sequence[str]) -> Sequence[object]:
            gone = set(client.cancel(*part, cascade=cascade))
            over = {
                job.id: job.state for job in client.jobs([one for one in part if one not in gone])
            }
            return ["cancelled" if one in gone else _refusal(one, over.get(one)) for one in part]

        answers = [] if dry_run else in_steps(found, act, "cancelled")
    report("cancelled", found, answers, as_json=as_json, dry_run=dry_run)


def _refusal(job_id: str, state: str | None) -> HeadraceError:
    return JobNotFound(job_id) if state is None else WrongState(job_id, state)


def _way(choice: Choice, matching: str | None) -> str | None:
    """What jobs are chosen by, if not by their ids."""
    if matching is not None:
        if choice.queue is None or choice.failure or choice.tag or choice.state:
            raise typer.BadParameter("it goes with --queue alone", param_hint="--matching")
        return matching
    if choice.queue is not None and not (choice.state or choice.failure or choice.tag):
        raise typer.BadParameter(
            "give --state, --tag, --failure or --matching too", param_hint="--queue"
        )
    return choice.failure or choice.tag or choice.queue
