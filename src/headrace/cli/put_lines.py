"""A file of jobs, one JSON value a line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from headrace.cli.bulk import STEP, Gently, Stopped, progress
from headrace.cli.words import counted
from headrace.errors import HeadraceError, InvalidArgument, JobExists

if TYPE_CHECKING:
    from headrace import Put, Queue
    from headrace.transport.drive import Operation


@dataclass(slots=True)
class Tally:
    """What became of lines."""

    put: int = 0
    known: int = 0

    def __str__(self) -> str:
        known = f" and {self.known:,} known" if self.known else ""
        return f"{counted(self.put, 'job')} put{known}"


@dataclass(slots=True)
class Batch:
    """Lines to be put together, each with its number."""

    size: int = 0
    items: dict[int, Put] = field(default_factory=dict)


class BadLine(Stopped):
    """A line that cannot be put as it is."""

    def __init__(self, number: int, why: Exception) -> None:
        super().__init__(f"line {number} cannot be put: {why}")


def enveloped(value: Any, task: str | None) -> Any:
    """The data of a job; what a task is called with goes into the envelope of a task."""
    if task is None:
        return value
    if not isinstance(value, dict):
        raise InvalidArgument(f"a task takes an object of arguments by name, not {value!r:.60}")
    return {"task": task, "args": value}


def put_lines(
    queue: Queue, source: str, id_field: str | None, task: str | None, options: dict[str, Any]
) -> Tally:
    """Puts a job for every line, so that it is known how far it came."""
    tally = Tally()
    on_exists = options.pop("on_exists", None if id_field is None else "reject")
    with _opened(source) as lines:
        try:
            with Gently().at_interrupts() as gently, progress("bytes", _size(lines)) as advance:
                for batch in _batches(lines, id_field, task, options):
                    with gently.step():
                        _put(queue, batch, on_exists, tally)
                    advance(batch.size)
        except KeyboardInterrupt:
            typer.echo(f"headrace: interrupted, {tally}{_advice(id_field)}", err=True)
            raise
        except HeadraceError as error:
            first = "correct it, then " if isinstance(error, BadLine) else ""
            raise Stopped(f"{error}; {tally}{_advice(id_field, first)}") from error
    return tally


def _advice(id_field: str | None, first: str = "") -> str:
    return f"; {first}the same command puts the rest" if id_field else ""


def _opened(source: str) -> AbstractContextManager[IO[bytes]]:
    if source == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise InvalidArgument(f"{source} cannot be read: {error.strerror}") from error


def _size(lines: IO[bytes]) -> int | None:
    """How much there is to read, if that is known; a pipe has no end before it ends."""
    return None if lines is sys.stdin.buffer else os.fstat(lines.fileno()).st_size


def _batches(
    lines: IO[bytes], id_field: str | None, task: str | None, options: dict[str, Any]
) -> Iterator[Batch]:
    """What is before a line that cannot be put is put."""
    batch = Batch()
    for number, line in enumerate(lines, 1):
        if len(batch.items) == STEP:
            yield batch
            batch = Batch()
        batch.size += len(line)
        try:
            if line.strip():
                batch.items[number] = _item(line, id_field, task, options)
        except (ValueError, RecursionError) as error:
            yield batch
            raise BadLine(number, error) from error
    yield batch


def _item(line: bytes, id_field: str | None, task: str | None, options: dict[str, Any]) -> Put:
    from headrace import Put  # noqa: PLC0415  redis takes long to load

    value = json.loads(line)
    data = enveloped(value, task)
    if id_field is None:
        return Put(data, **options)
    found = value.get(id_field) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise InvalidArgument(f"it has no text or number {id_field!r} to be its id")
    return Put(data, id=str(found), **options)


def _put(queue: Queue, batch: Batch, on_exists: str | None, tally: Tally) -> None:
    from headrace.transport.drive import drive  # noqa: PLC0415

    rows, bad = _rows(queue, batch)
    try:
        answers = drive(queue.core.transport, _answers(queue, batch, rows, on_exists))
    except HeadraceError as error:
        numbers = list(batch.items)[: len(rows)]
        raise Stopped(f"lines {numbers[0]} to {numbers[-1]}: {error}") from error
    for number, answer in zip(batch.items, answers, strict=False):
        if isinstance(answer, JobExists):
            tally.known += 1
        elif isinstance(answer, HeadraceError):
            bad = bad or BadLine(number, answer)
        else:
            tally.put += 1
    if bad is not None:
        raise bad


def _rows(queue: Queue, batch: Batch) -> tuple[list[Any], BadLine | None]:
    """The jobs of the lines, up to the first that can be none."""
    from headrace.operations.ids import new_ids  # noqa: PLC0415
    from headrace.operations.putting import row_of  # noqa: PLC0415

    rows: list[Any] = []
    lines = zip(batch.items.items(), new_ids(len(batch.items)), strict=True)
    for (number, item), new_id in lines:
        try:
            rows.append(row_of(queue.core, item, new_id, {}))
        except HeadraceError as error:
            return rows, BadLine(number, error)
    return rows, None


def _answers(
    queue: Queue, batch: Batch, rows: list[Any], on_exists: str | None
) -> Operation[list[str | HeadraceError]]:
    """As put_many, but for each its id or why not."""
    from headrace.operations.batches import in_batches  # noqa: PLC0415
    from headrace.operations.ids import batch_of, new_nonce  # noqa: PLC0415
    from headrace.operations.putting import put_call  # noqa: PLC0415

    core, nonce = queue.core, new_nonce()
    parents = (len(list(item.options.get("depends_on") or ())) for item in batch.items.values())
    most = batch_of(core, max(parents, default=0))
    return (
        yield from in_batches(
            core, rows, lambda part: put_call(queue.name, part, b"", on_exists, nonce), most
        )
    )
