"""`workers`, `release`, `timeout` and `sweep`: commands about workers, leases and housekeeping."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headrace import Client
from headrace.cli import options, output
from headrace.cli.bulk_changes import change_jobs
from headrace.cli.connecting import server_time


@options.client_command("workers")
@options.offset
@options.count(100)
def workers(offset: int, count: int, client: Client) -> None:
    """List the workers that have a session, and count their jobs."""
    found, now = output.read_page(client.workers.list, offset, count), server_time(client)
    rows = (
        (
            worker.name,
            worker.jobs,
            ", ".join(worker.queues),
            output.ago(worker.started, now),
            "never" if worker.expires_in is None else f"in {output.span(worker.expires_in)}",
            worker.about,
        )
        for worker in found
    )
    columns = ("worker", "jobs", "queues", "started", "session ends", "where")
    output.show_rows({"workers": found}, columns, rows, "no worker has a session")


@options.client_command("release ada --back")
@options.job_id
@click.option("--back", is_flag=True, help="Put the job at the back of the queue.")
@options.delay
def release(job_id: str, back: bool, delay: float | None, client: Client) -> None:
    """Make a running job available to other workers again.

    The worker that runs the job loses the lease.
    """
    position = "back" if back else "front"
    state = client.release(job_id, position=position, delay=delay or 0)
    output.show({"id": job_id, "state": state}, f"{job_id} is {state}")


@options.client_command("timeout ada grace")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, help="Ids of jobs.")
def timeout(ids: Sequence[str], client: Client) -> None:
    """Expire the leases of running jobs now."""
    change_jobs(ids, lambda part: client.timeout(*part), "taken back")


@options.client_command("sweep")
def sweep(client: Client) -> None:
    """Run housekeeping once.

    Housekeeping reclaims the jobs of dead workers, makes due jobs available and deletes expired
    data. Housekeeping also finishes each Spark write whose driver died. Workers do the
    housekeeping themselves, so this command is needed only when no worker is running.
    """
    finished = client.sweep()
    if output.print_json({"finished": finished}):
        return
    output.say(f"swept; finished {output.counted(len(finished), 'write')} from Spark")
    for write in finished:
        batch = "" if write.batch is None else f", batch {write.batch}"
        lost = f"; lost: {sum(write.lost.values()):,}" if write.lost else ""
        output.say(
            f"{write.id}{batch}: {output.counted(write.rows, 'row')} into {write.queue}{lost}"
        )
