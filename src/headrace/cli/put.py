"""`put`: one job, or a file of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from headrace.cli import options
from headrace.cli.cancel import parse_json
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, show
from headrace.cli.put_lines import as_task, put_lines


def parse_retries(text: str) -> int | None:
    """Parse a number of retries; `none` means unlimited."""
    if text == "none":
        return None
    if not text.isdecimal():
        raise click.BadParameter(f"{text!r} is neither a number nor none")
    return int(text)


def _check(data: str | None, source: str | None, job_id: str | None, id_field: str | None) -> None:
    if (data is None) == (source is None):
        raise click.BadParameter("pass DATA or --from, not both", param_hint="DATA")
    if source is not None and job_id is not None:
        raise click.BadParameter("use --id-field with --from", param_hint="--id")
    if source is None and id_field is not None:
        raise click.BadParameter("requires --from", param_hint="--id-field")


@click.command(epilog='Example: headrace put mail \'{"to": "ada"}\' --priority -1 --tag vip')
@options.queue
@click.argument("data", required=False, help="The data of the job, as JSON.")
@click.option("--task", metavar="NAME", help="Put a job for this task; DATA has its arguments.")
@click.option("--id", "job_id", metavar="ID", help="Id of the job; default: a new id.")
@click.option("--priority", type=float, metavar="NUMBER", help="Lower runs first; default: 0.")
@options.delay
@click.option("--tag", metavar="TAG", multiple=True, help="Add a tag; repeatable.")
@click.option(
    "--retries", metavar="NUMBER", help="Retry this many times after a failure, or none: no limit."
)
@click.option("--key", metavar="KEY", help="Key for per-key limits and fair sharing.")
@click.option("--unique", is_flag=True, help="Refuse the job if one with the same data exists.")
@click.option(
    "--unique-by", metavar="TEXT", help="Refuse the job if one with this unique value exists."
)
@options.duration("--start-within", help="Expire the job if it has not started within this time.")
@click.option("--depends-on", metavar="ID", multiple=True, help="Run after this job; repeatable.")
@click.option(
    "--on-exists", metavar="ACTION", help="If the id exists: move, replace or reject the job."
)
@click.option(
    "--from", "source", metavar="FILE", help="Put a job for each JSON line of a file; - is stdin."
)
@click.option("--id-field", metavar="NAME", help="With --from: the field that has the job id.")
@options.server
@options.as_json
def put(
    queue: str,
    data: str | None,
    task: str | None,
    job_id: str | None,
    priority: float | None,
    delay: float | None,
    tag: Sequence[str],
    retries: str | None,
    key: str | None,
    unique: bool,
    unique_by: str | None,
    start_within: float | None,
    depends_on: Sequence[str],
    on_exists: str | None,
    source: str | None,
    id_field: str | None,
    server: ServerOptions,
    as_json: bool,
) -> None:
    """Put a job into a queue and print its id; --from puts many.

    A file for --from has one JSON value per line. With --id-field the same file can be put again
    after Ctrl-C or an outage: lines whose jobs exist are skipped.
    """
    _check(data, source, job_id, id_field)
    given: dict[str, Any] = {
        "priority": priority,
        "delay": delay,
        "tags": list(tag) or None,
        "key": key,
        "start_within": start_within,
        "depends_on": list(depends_on) or None,
        "on_exists": on_exists,
    }
    job_options = {name: value for name, value in given.items() if value is not None}
    job_options["unique"] = unique_by or unique
    if retries is not None:
        job_options["retries"] = parse_retries(retries)
    if source is not None:
        with open_client(server, create=True) as client:
            counts = put_lines(client.queue(queue), source, id_field, task, job_options)
        known = f", {counted(counts.known, 'line')} known already" if id_field else ""
        sentence = f"{counted(counts.put, 'job')} put into {queue}{known}"
        show({"queue": queue, "put": counts.put, "known": counts.known}, sentence, as_json=as_json)
        return
    value = as_task(parse_json(data or ""), task)
    with open_client(server, create=True) as client:
        new_id = client.queue(queue).put(value, id=job_id, **job_options)
    show({"id": new_id, "queue": queue}, new_id, as_json=as_json)
