"""Put the jobs of a file that has one JSON value per line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from headrace import Put, Queue
from headrace.cli.changing import STEP, ChangeStopped, InterruptGuard
from headrace.cli.output import counted, progress, warn
from headrace.errors import HeadraceError, InvalidArgument, JobExists
from headrace.operations.batches import in_batches
from headrace.operations.ids import batch_of, new_ids, new_nonce
from headrace.operations.putting import put_call, row_of
from headrace.transport.drive import Operation, drive


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
