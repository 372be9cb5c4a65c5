"""`workers`, `release`, `timeout`, `sweep`: workers, their leases and their housekeeping."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headrace.cli import options
from headrace.cli.changing import in_steps, report
from headrace.cli.connecting import ServerOptions, open_client, server_time
from headrace.cli.output import (
    ago,
    counted,
    hint_at_more,
    print_json,
    printable,
    show,
    show_rows,
    span,
)


@options.command("workers")
@options.offset
@options.count(100)
def workers(offset: int, count: int, server: ServerOptions) -> None:
    """List the workers that have a session and the jobs they hold."""
    with open_client(server) as client:
        found, now = client.workers.list(offset=offset, count=count), server_time(client)
        hint_at_more(len(found), offset, count, client.workers.list)
    rows = (
        (
            worker.name,
            worker.jobs,
            ", ".join(worker.queues),
            ago(worker.started, now),
            "never" if worker.expires_in is None else f"in {span(worker.expires_in)}",
            worker.about,
        )
        for worker in found
    )
    columns = ("worker", "jobs", "queues", "started", "session ends", "where")
    show_rows({"workers": found}, columns, rows, "no worker has a session")


@options.command("release ada --back")
@options.job_id
@click.option("--back", is_flag=True, help="Put it at the back of the queue, not at the front.")
@options.delay
def release(job_id: str, back: bool, delay: float | None, server: ServerOptions) -> None:
    """Take a running job from its worker and make it available again."""
    with open_client(server) as client:
        position = "back" if back else "front"
        state = client.release(job_id, position=position, delay=delay or 0)
    show({"id": job_id, "state": state}, f"{job_id} is {state}")


@options.command("timeout ada grace")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, help="Ids of jobs.")
def timeout(ids: Sequence[str], server: ServerOptions) -> None:
    """Expire the leases of running jobs now."""
    with open_client(server) as client:
        unique = list(dict.fromkeys(ids))
        answers = in_steps(unique, lambda part: client.timeout(*part), "taken back")
    report("taken back", unique, answers)


@options.command("sweep")
def sweep(server: ServerOptions) -> None:
    """Run housekeeping once; use it when no worker is running.

    Reclaims the jobs of dead workers, makes due jobs available and deletes expired data. Finishes
    writes from Spark whose driver died, and lists them.
    """
    with open_client(server) as client:
        finished = client.sweep()
    if print_json({"finished": finished}):
        return
    click.echo(f"swept; finished {counted(len(finished), 'write')} from Spark")
    for write in finished:
        batch = "" if write.batch is None else f", batch {write.batch}"
        lost = f"; lost: {sum(write.lost.values()):,}" if write.lost else ""
        click.echo(
            f"{printable(write.id)}{batch}: {counted(write.rows, 'row')} into "
            f"{printable(write.queue)}{lost}"
        )
