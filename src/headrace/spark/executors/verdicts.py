"""What a function returned, as one verdict a row.

A verdict is a value, which is the result of the job; an exception, which fails it as if it had been
raised; or Next, which moves it on to another queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.app.verdicts import Discard, Retry
from headrace.engine.check import Limits, Span, milliseconds, text
from headrace.errors import InvalidArgument
from headrace.options import UNSET
from headrace.spark.executors.frames import COLUMNS, DATA

FAILURE, MESSAGE, RETRY_IN, NEXT = "failure", "message", "retry_in", "next"
OF_JOBS = frozenset(COLUMNS.names)
OF_VERDICTS = frozenset((FAILURE, MESSAGE, RETRY_IN, NEXT))


class BadReturn(Exception):
    """What a function returned does not say what is to become of each of its jobs."""


@dataclass(frozen=True, slots=True)
class Next:
    """The job moves on to another queue, with new data if they are given, and perhaps later."""

    queue: str
    data: Any = UNSET
    delay: Span = 0

    def __post_init__(self) -> None:
        text("the queue of a Next", self.queue, Limits().name)
        milliseconds("delay", self.delay)


def verdicts_of(returned: Any, ids: Sequence[str]) -> list[Any]:
    """One verdict for each of the jobs that the function was called with."""
    if returned is None:
        return [None] * len(ids)
    table = _as_table(returned)
    if table is not None:
        return _of_table(table, ids)
    values = _as_list(returned)
    if len(values) != len(ids):
        raise BadReturn(f"the function was given {len(ids)} jobs and returned {len(values)} values")
    return values


def moved_on(verdict: Any, queue: str) -> Any:
    """The verdict where what goes well moves on to this queue, with what was returned as data."""
    if isinstance(verdict, BaseException | Next):
        return verdict
    return Next(queue) if verdict is None else Next(queue, verdict)


def _as_table(returned: Any) -> pa.Table | None:
    if isinstance(returned, pa.RecordBatch):
        return pa.Table.from_batches([returned])
    if isinstance(returned, pa.Table):
        return returned
    if type(returned).__name__ == "DataFrame" and hasattr(returned, "columns"):
        try:
            return pa.Table.from_pandas(returned, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise BadReturn(f"the frame that was returned is no Arrow table: {error}") from error
    return None


def _as_list(returned: Any) -> list[Any]:
    if isinstance(returned, list | tuple):
        return [_plain(value) for value in returned]
    if isinstance(returned, pa.Array | pa.ChunkedArray):
        return list(returned.to_pylist())
    if type(returned).__name__ == "Series":
        return list(pa.Array.from_pandas(returned).to_pylist())
    if hasattr(returned, "tolist") and getattr(returned, "ndim", None):
        return list(returned.tolist())
    raise BadReturn(
        "the function must return None, a table, a frame, or a list or array with a value for "
        f"each job, not {type(returned).__name__}"
    )


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _of_table(table: pa.Table, ids: Sequence[str]) -> list[Any]:
    columns = {name: table.column(at) for at, name in enumerate(table.column_names)}
    if len(columns) < table.num_columns:
        raise BadReturn("the table that was returned has two columns of the same name")
    values = _values(columns, table.num_rows)
    failures, messages, spans, queues = (
        columns[name].to_pylist() if name in columns else [None] * table.num_rows
        for name in (FAILURE, MESSAGE, RETRY_IN, NEXT)
    )
    found = [_verdict(*row) for row in zip(values, failures, messages, spans, queues, strict=True)]
    return _aligned(found, columns["id"].to_pylist() if "id" in columns else None, ids)


def _values(columns: dict[str, Any], count: int) -> list[Any]:
    """What is left of each row when what is the job's own and the verdict are taken away."""
    named = [
        (name.removeprefix(f"{DATA}."), column)
        for name, column in columns.items()
        if name not in OF_JOBS and name not in OF_VERDICTS
    ]
    if not named:
        return [None] * count
    names = [name for name, _ in named]
    lists = [column.to_pylist() for _, column in named]
    if names == [DATA]:
        return list(lists[0])
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadReturn(f"{min(twice)!r} and 'data.{min(twice)}' would be the same field")
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _verdict(value: Any, failure: Any, message: Any, retry_in: Any, queue: Any) -> Any:
    try:
        if failure is not None:
            about = "" if message is None else str(message)
            if retry_in is None:
                return Discard(about, failure=failure)
            return Retry(about, delay=retry_in, failure=failure)
        if queue is not None:
            return Next(queue) if value is None else Next(queue, value)
    except InvalidArgument as error:
        raise BadReturn(str(error)) from error
    return value


def _aligned(verdicts: list[Any], named: list[Any] | None, ids: Sequence[str]) -> list[Any]:
    if named is None:
        if len(verdicts) != len(ids):
            raise BadReturn(
                f"the function was given {len(ids)} jobs and returned {len(verdicts)} rows; with a "
                "column id they may come in another order, but none may be left out"
            )
        return verdicts
    by_id = dict(zip(named, verdicts, strict=True))
    if len(by_id) < len(named) or by_id.keys() != set(ids):
        wrong = set(ids) ^ by_id.keys() or {name for name in named if named.count(name) > 1}
        raise BadReturn(
            f"the ids that were returned are not those of the {len(ids)} jobs, each once; see "
            f"{min(map(str, wrong))!r}"
        )
    return [by_id[job_id] for job_id in ids]
