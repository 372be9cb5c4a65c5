"""`workers`, `release`, `timeout`: who works, and what is taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from headrace.cli.bulk import in_steps
from headrace.cli.choosing import report
from headrace.cli.opening import opened, server_time
from headrace.cli.options import Count, Delay, Id, Namespace, Offset, Url
from headrace.cli.show import AsJson, as_line, show, table, tell_more
from headrace.cli.words import ago, span


def workers(
    *,
    offset: Offset = 0,
    count: Count = 100,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List the workers that have a session, and how much they hold."""
    with opened(url, namespace) as client:
        found, now = client.workers.list(offset=offset, count=count), server_time(client)
        tell_more(len(found), offset, count, client.workers.list)
    if as_json:
        typer.echo(as_line({"workers": found}))
    elif found:
        table(
            ("worker", "jobs", "queues", "began", "session ends", "where"),
            (
                (
                    worker.name,
                    worker.jobs,
                    ", ".join(worker.queues),
                    ago(worker.started, now),
                    "never" if worker.expires_in is None else f"in {span(worker.expires_in)}",
                    worker.about,
                )
                for worker in found
            ),
        )
    else:
        typer.echo("no worker has a session")


def release(
    job_id: Id,
    *,
    back: Annotated[
        bool, typer.Option("--back", help="To the back of the queue, not to the front.")
    ] = False,
    delay: Delay = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Take a running job from its worker and let another have it."""
    with opened(url, namespace) as client:
        position = "back" if back else "front"
        state = client.release(job_id, position=position, delay=delay or 0)
    show({"id": job_id, "state": state}, f"{job_id} is {state}", as_json=as_json)


def timeout(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Jobs by their ids.")],
    *,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Let the leases of running jobs run out now."""
    with opened(url, namespace) as client:

        def act(part: Sequence[str]) -> Sequence[object]:
            return client.timeout(*part)

        meant = list(dict.fromkeys(ids))
        answers = in_steps(meant, act, "taken back")
    report("taken back", meant, answers, as_json=as_json)
