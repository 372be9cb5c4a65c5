"""`cancel`: jobs that are no longer wanted."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.bulk import agree
from headrace.cli.cancelling import cancel_all
from headrace.cli.choosing import Choice, change_failed, check_choice, chosen, report, report_plan
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
    choice = Choice(failure=failure, queue=queue, tag=tag, state=state)
    _check(choice, matching, cascade=cascade)
    check_choice(ids, chosen_otherwise=choice.is_made())
    data = None if matching is None else as_json_value(matching)
    with opened(url, namespace) as client:
        if failure is not None:
            change_failed(
                client.failures.cancel, choice, "cancelled", question="Cancel", count=count,
                yes=yes, dry_run=dry_run, as_json=as_json,
            )  # fmt: skip
            return
        if matching is not None:
            found = list(client.queue(existing(client, queue or "").name).matching(data))[:count]
        else:
            found = list(dict.fromkeys(ids or ())) or chosen(client, choice, count)
        if dry_run:
            report_plan("cancelled", found, as_json=as_json)
            return
        agree(f"Cancel {counted(len(found), 'job')}?", yes=yes or bool(ids) or not found)

        answers = cancel_all(client, found, state, cascade=cascade)
    report("cancelled", found, answers, as_json=as_json)


def _check(choice: Choice, matching: str | None, *, cascade: bool) -> None:
    if matching is not None and choice != Choice(queue=choice.queue or ""):
        raise typer.BadParameter("it goes with --queue alone", param_hint="--matching")
    if choice.queue and matching is None and choice == Choice(queue=choice.queue):
        raise typer.BadParameter(
            "give --state, --tag, --failure or --matching too", param_hint="--queue"
        )
    if choice.state and not choice.queue and not choice.tag:
        raise typer.BadParameter("give --queue or --tag too", param_hint="--state")
    if choice.failure and (choice.state or cascade):
        raise typer.BadParameter("not with --state or --cascade", param_hint="--failure")
