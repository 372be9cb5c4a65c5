"""`put`: one job, or a file that has one JSON value per line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import click

from headrace import Put, Queue
from headrace.cli import options
from headrace.cli.changing import STEP, ChangeStopped, InterruptGuard
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, progress, show, warn
from headrace.errors import HeadraceError, InvalidArgument, JobExists
from headrace.operations.batches import in_batches
from headrace.operations.ids import batch_of, new_ids, new_nonce
from headrace.operations.putting import put_call, row_of
from headrace.options import OPTIONS, UNSET, Unset, is_given
from headrace.transport.drive import Operation, drive


def _retries(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | Unset | None:
    """Parse a number of retries; `none` means unlimited."""
    if text is None:
        return UNSET
    if text != "none" and not text.isdecimal():
        raise click.BadParameter(f"{text!r} is neither a number nor none")
    return None if text == "none" else int(text)


def _check(data: str | None, source: str | None, job_id: str | None, id_field: str | None) -> None:
    if (data is None) == (source is None):
        raise click.BadParameter("pass DATA or --from, not both", param_hint="DATA")
    if source is not None and job_id is not None:
        raise click.BadParameter("use --id-field with --from", param_hint="--id")
    if source is None and id_field is not None:
        raise click.BadParameter("requires --from", param_hint="--id-field")


@options.command('put mail \'{"to": "ada"}\' --priority -1 --tag vip')
@options.queue
@click.argument("data", required=False, help="The data of the job, as JSON.")
@click.option("--task", metavar="NAME", help="Put a job for this task; DATA has its arguments.")
@click.option("--id", metavar="ID", help="Id of the job; default: a new id.")
@click.option("--priority", type=float, metavar="NUMBER", help="Lower runs first; default: 0.")
@options.delay
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Add a tag; repeatable.")
@click.option(
    "--retries",
    callback=_retries,
    metavar="NUMBER",
    help="Retry this many times after a failure, or none: no limit.",
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
def put(
    queue: str,
    data: str | None,
    task: str | None,
    source: str | None,
    id_field: str | None,
    server: ServerOptions,
    **given: Any,
) -> None:
    """Put a job into a queue and print its id; --from puts many.

    A file for --from has one JSON value per line. With --id-field the same file can be put again
    after Ctrl-C or an outage: lines whose jobs exist are skipped.
    """
    _check(data, source, given["id"], id_field)
    job_options = _job_options(**given)
    if source is not None:
        with open_client(server, create=True) as client:
            counts = put_lines(client.queue(queue), source, id_field, task, job_options)
        known = f", {counted(counts.known, 'line')} known already" if id_field else ""
        sentence = f"{counted(counts.put, 'job')} put into {queue}{known}"
        show({"queue": queue, "put": counts.put, "known": counts.known}, sentence)
        return
    value = as_task(options.json_value(data or ""), task)
    with open_client(server, create=True) as client:
        new_id = client.queue(queue).put(value, **job_options)
    show({"id": new_id, "queue": queue}, new_id)


def _job_options(*, unique_by: str | None, **given: Any) -> dict[str, Any]:
    """Return the options of the job that were given."""
    given["unique"] = unique_by or given["unique"]
    return {
        name: value
        for name, value in given.items()
        if name in OPTIONS and is_given(name, value) and value != ()
    }


@dataclass(slots=True)
class LineCounts:
    """How many lines became jobs, and how many had a job already."""

    put: int = 0
    known: int = 0

    def __str__(self) -> str:
        known = f" and {self.known:,} known" if self.known else ""
        return f"{counted(self.put, 'job')} put{known}"


@dataclass(slots=True)
class LineBatch:
    """Lines that are put together, by line number, and their size in bytes."""

    size: int = 0
    items: dict[int, Put] = field(default_factory=dict)


class BadLine(ChangeStopped):
    """A line of the file cannot become a job."""

    def __init__(self, number: int, why: Exception) -> None:
        super().__init__(f"cannot put line {number}: {why}")


def as_task(value: Any, task: str | None) -> Any:
    """Return the data of a job; with a task, the envelope that names the task.

    Raises InvalidArgument if the arguments of a task are not an object.
    """
    if task is None:
        return value
    if not isinstance(value, dict):
        raise InvalidArgument(f"a task takes an object of arguments by name, not {value!r:.60}")
    return {"task": task, "args": value}


def put_lines(
    queue: Queue, source: str, id_field: str | None, task: str | None, options: dict[str, Any]
) -> LineCounts:
    """Put a job for every line, in steps, and return the counts.

    Raises ChangeStopped with the counts so far if a line cannot be put or the server fails.
    """
    counts = LineCounts()
    on_exists = options.pop("on_exists", None if id_field is None else "reject")
    with _opened(source) as lines:
        try:
            with (
                InterruptGuard().installed() as guard,
                progress("bytes", _size(lines)) as advance,
            ):
                for batch in _batches(lines, id_field, task, options):
                    with guard.step():
                        _put(queue, batch, on_exists, counts)
                    advance(batch.size)
        except KeyboardInterrupt:
            warn(f"interrupted, {counts}{_advice(id_field)}")
            raise
        except HeadraceError as error:
            first = "correct it, then " if isinstance(error, BadLine) else ""
            raise ChangeStopped(f"{error}; {counts}{_advice(id_field, first)}") from error
    return counts


def _advice(id_field: str | None, first: str = "") -> str:
    return f"; {first}run the same command to put the rest" if id_field else ""


def _opened(source: str) -> AbstractContextManager[IO[bytes]]:
    if source == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise InvalidArgument(f"cannot read {source}: {error.strerror}") from error


def _size(lines: IO[bytes]) -> int | None:
    """Return the number of bytes to read; None for stdin."""
    return None if lines is sys.stdin.buffer else os.fstat(lines.fileno()).st_size


def _batches(
    lines: IO[bytes], id_field: str | None, task: str | None, options: dict[str, Any]
) -> Iterator[LineBatch]:
    """Split a file into batches; the lines before a bad line are yielded first."""
    batch = LineBatch()
    for number, line in enumerate(lines, 1):
        if len(batch.items) == STEP:
            yield batch
            batch = LineBatch()
        batch.size += len(line)
        try:
            if line.strip():
                batch.items[number] = _item(line, id_field, task, options)
        except (ValueError, RecursionError) as error:
            yield batch
            raise BadLine(number, error) from error
    yield batch


def _item(line: bytes, id_field: str | None, task: str | None, options: dict[str, Any]) -> Put:
    value = json.loads(line)
    data = as_task(value, task)
    if id_field is None:
        return Put(data, **options)
    found = value.get(id_field) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise InvalidArgument(f"its field {id_field!r} is not a string or an integer")
    return Put(data, id=str(found), **options)


def _put(queue: Queue, batch: LineBatch, on_exists: str | None, counts: LineCounts) -> None:
    rows, bad = _rows(queue, batch)
    try:
        answers = drive(queue.core.transport, _answers(queue, batch, rows, on_exists))
    except HeadraceError as error:
        numbers = list(batch.items)[: len(rows)]
        raise ChangeStopped(f"lines {numbers[0]} to {numbers[-1]}: {error}") from error
    for number, answer in zip(batch.items, answers, strict=False):
        if isinstance(answer, JobExists):
            counts.known += 1
        elif isinstance(answer, HeadraceError):
            bad = bad or BadLine(number, answer)
        else:
            counts.put += 1
    if bad is not None:
        raise bad


def _rows(queue: Queue, batch: LineBatch) -> tuple[list[Any], BadLine | None]:
    """Return the rows of the put script up to the first line that is invalid."""
    rows: list[Any] = []
    lines = zip(batch.items.items(), new_ids(len(batch.items)), strict=True)
    for (number, item), new_id in lines:
        try:
            rows.append(row_of(queue.core, item, new_id, {}))
        except HeadraceError as error:
            return rows, BadLine(number, error)
    return rows, None


def _answers(
    queue: Queue, batch: LineBatch, rows: list[Any], on_exists: str | None
) -> Operation[list[str | HeadraceError]]:
    """Put rows like put_many, but return an id or an error for each row."""
    core, nonce = queue.core, new_nonce()
    parents = (len(list(item.options.get("depends_on") or ())) for item in batch.items.values())
    most = batch_of(core, max(parents, default=0))
    return (
        yield from in_batches(
            core, rows, lambda part: put_call(queue.name, part, b"", on_exists, nonce), most
        )
    )
