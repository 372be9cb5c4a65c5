"""`put`: put one job, or a job for each line of a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import click

from headrace import Put, Queue
from headrace.cli import options
from headrace.cli.bulk_changes import STEP, ChangeStopped, interrupts_delayed
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, progress, show, warn
from headrace.errors import HeadraceError, InvalidArgument, JobExists
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.ids import batch_of, new_id
from headrace.operations.putting import PAYLOADS, FullItem, put_call, row_of
from headrace.options import OPTIONS, UNSET, Unset, is_given
from headrace.transport.drive import drive


def _retries(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | Unset | None:
    """Parse a number of retries; `none` means unlimited."""
    if text is None:
        return UNSET
    if text != "none" and not text.isdecimal():
        raise click.BadParameter(f"{text!r} is neither a number nor none")
    return None if text == "none" else int(text)


def _check(data: str | None, source: str | None, job_id: str | None, id_field: str | None) -> None:
    if data is None and source is None:
        raise click.BadParameter("missing: pass DATA, or a file with --from", param_hint="DATA")
    if data is not None and source is not None:
        raise click.BadParameter("pass DATA or --from, not both", param_hint="DATA")
    if source is not None and job_id is not None:
        raise click.BadParameter("use --id-field with --from", param_hint="--id")
    if source is None and id_field is not None:
        raise click.BadParameter("requires --from", param_hint="--id-field")


@options.command('put mail \'{"to": "ada"}\' --priority -1 --tag vip')
@options.queue
@click.argument("data", required=False, help="The data of the job, as JSON.")
@click.option("--task", metavar="NAME", help="Run this task; DATA has the arguments of the task.")
@click.option("--id", metavar="ID", help="Id of the job; default: a new id.")
@click.option("--priority", type=float, metavar="NUMBER", help="Low numbers run first; default: 0.")
@options.delay
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Add a tag; repeatable.")
@click.option(
    "--retries",
    callback=_retries,
    metavar="NUMBER",
    help="Retry the job this many times after a failure; 'none' means no limit.",
)
@click.option("--key", metavar="KEY", help="Key of the job, for limits and fair sharing by key.")
@click.option("--unique", is_flag=True, help="Refuse the job if another job has the same data.")
@click.option("--unique-by", metavar="TEXT", help="Refuse the job if this unique value is taken.")
@options.duration("--start-within", help="Expire the job if it has not started within this time.")
@click.option("--depends-on", metavar="ID", multiple=True, help="Run after this job; repeatable.")
@click.option(
    "--on-exists",
    metavar="ACTION",
    help="For an existing id: move, replace, reject or duplicate.",
)
@click.option("--from", "source", metavar="FILE", help="Put a job per line of FILE; - means stdin.")
@click.option("--id-field", metavar="NAME", help="With --from: field that has the job id.")
def put(
    queue: str,
    data: str | None,
    task: str | None,
    source: str | None,
    id_field: str | None,
    server: ServerOptions,
    **given: Any,
) -> None:
    """Put one job or a file of jobs into a queue.

    For one job, the command prints the id of the job. A file for --from has one JSON value per
    line. With --id-field, the same file can be put again after Ctrl-C or an outage. The command
    then skips the lines whose jobs already exist.
    """
    _check(data, source, given["id"], id_field)
    job_options = _job_options(**given)
    if source is not None:
        with open_client(server, create=True) as client:
            counts = put_lines(client.queue(queue), source, id_field, task, job_options)
        show({"queue": queue, **asdict(counts)}, counts.words(f" into {queue}"))
        return
    value = as_task(options.json_value(data or ""), task)
    with open_client(server, create=True) as client:
        job_id = client.queue(queue).put(value, **job_options)
    show({"id": job_id, "queue": queue}, job_id)


def _job_options(*, unique_by: str | None, **given: Any) -> dict[str, Any]:
    """Return the job options that the user passed."""
    if unique_by and given["unique"]:
        raise click.BadParameter("pass --unique or --unique-by, not both", param_hint="--unique-by")
    given["unique"] = unique_by or given["unique"]
    return {
        name: value
        for name, value in given.items()
        if name in OPTIONS and is_given(name, value) and value != ()
    }


@dataclass(slots=True)
class LineCounts:
    """The number of lines that became jobs, and of lines whose job existed already."""

    put: int = 0
    known: int = 0

    def words(self, where: str = "") -> str:
        """Format the counts as text."""
        known = f", {counted(self.known, 'line')} skipped (id exists)" if self.known else ""
        return f"{counted(self.put, 'job')} put{where}{known}"


class BadLine(ChangeStopped):
    """A line of the file cannot become a job."""

    def __init__(self, number: int, why: Exception) -> None:
        super().__init__(f"cannot put line {number}: {why}")


def as_task(value: Any, task: str | None) -> Any:
    """Return the data of a job. For a task, the data has the task's name and the arguments.

    Raises InvalidArgument if the arguments of a task are not an object.
    """
    if task is None:
        return value
    if not isinstance(value, dict):
        raise InvalidArgument(f"a task needs a JSON object of arguments, not {value!r:.60}")
    return {"task": task, "args": value}


def put_lines(
    queue: Queue, source: str, id_field: str | None, task: str | None, options: dict[str, Any]
) -> LineCounts:
    """Put a job for every line of a file, 250 lines at a time, and return the counts.

    If a line cannot be put or the server fails, raises ChangeStopped with the counts so far.
    """
    counts = LineCounts()
    on_exists = options.pop("on_exists", None if id_field is None else "reject")
    most = batch_of(queue.core, len(options.get("depends_on", ())))
    row_of_line = partial(_row, queue.core, id_field, task, options)
    with _opened(source) as lines:
        size = None if source == "-" else os.fstat(lines.fileno()).st_size
        try:
            with progress("bytes", size) as advance:
                numbered = enumerate(lines, 1)
                while batch := list(islice(numbered, STEP)):
                    rows, bad_line = _rows(batch, row_of_line)
                    with interrupts_delayed():
                        _put(queue, rows, on_exists, most, counts)
                        advance(sum(len(line) for _, line in batch))
                    if bad_line:
                        raise bad_line
        except KeyboardInterrupt:
            warn(f"interrupted, {counts.words()}{_advice(id_field)}")
            raise
        except HeadraceError as error:
            first = "correct the line, then " if isinstance(error, BadLine) else ""
            raise ChangeStopped(f"{error}; {counts.words()}{_advice(id_field, first)}") from error
    return counts


def _advice(id_field: str | None, first: str = "") -> str:
    return f"; {first}run the same command to put the remaining lines" if id_field else ""


def _opened(source: str) -> AbstractContextManager[IO[bytes]]:
    if source == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise InvalidArgument(f"cannot read {source}: {error.strerror}") from error


def _rows(
    batch: Sequence[tuple[int, bytes]], row_of_line: Callable[[bytes], FullItem]
) -> tuple[dict[int, FullItem], BadLine | None]:
    """Convert numbered lines to rows, up to the first invalid line; skip blank lines."""
    rows = {}
    for number, line in batch:
        try:
            if line.strip():
                rows[number] = row_of_line(line)
        except (HeadraceError, ValueError, RecursionError) as error:
            return rows, BadLine(number, error)
    return rows, None


def _row(
    core: Core, id_field: str | None, task: str | None, options: dict[str, Any], line: bytes
) -> FullItem:
    value = json.loads(line)
    data = as_task(value, task)
    if id_field is not None:
        found = value.get(id_field) if isinstance(value, dict) else None
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise InvalidArgument(f"the field {id_field!r} is not a string or an integer")
        options = {**options, "id": str(found)}
    return row_of(core, "", Put(data, **options), new_id(), {})


def _put(
    queue: Queue, rows: dict[int, FullItem], on_exists: str | None, most: int, counts: LineCounts
) -> None:
    """Put rows as put_many does, but count existing jobs and report the first refused line."""
    numbers = list(rows)
    call = in_batches(
        queue.core,
        list(rows.values()),
        lambda part: put_call(queue.name, part, {}, on_exists or ""),
        most,
        PAYLOADS,
    )
    try:
        answers = drive(queue.core.transport, call)
    except HeadraceError as error:
        raise ChangeStopped(f"lines {numbers[0]} to {numbers[-1]}: {error}") from error
    refused = []
    for number, answer in zip(numbers, answers, strict=True):
        if isinstance(answer, JobExists):
            counts.known += 1
        elif isinstance(answer, HeadraceError):
            refused.append(BadLine(number, answer))
        else:
            counts.put += 1
    if refused:
        raise refused[0]
