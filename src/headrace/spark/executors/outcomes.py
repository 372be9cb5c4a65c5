"""Call the user's function with jobs, and convert its return value to one outcome for each job.

An outcome is a value, an exception or a Next. A value becomes the result of the job. An exception
fails the job as if a task had raised the exception. A Next moves the job to another queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.app.outcome_exceptions import Discard, Retry
from headrace.engine.check import Limits, Span, milliseconds, text
from headrace.errors import InvalidArgument
from headrace.options import UNSET
from headrace.spark.executors.job_table import COLUMNS, DATA, JobRow, tabular

FAILURE, MESSAGE, RETRY_IN, NEXT = "failure", "message", "retry_in", "next"
JOB_COLUMNS = frozenset(COLUMNS.names)
OUTCOME_COLUMNS = frozenset((FAILURE, MESSAGE, RETRY_IN, NEXT))

# The maximum number of times to call the function for one table and its parts. Finding a poison job
# among a thousand jobs takes about 20 calls. The limit protects against a function that always
# fails.
MOST_CALLS = 64

FUNCTION_FAILS = (Exception, SystemExit)

Function = Callable[[Any], Any]


class BadReturn(Exception):
    """The function did not return one outcome for each job.

    The jobs of that call fail with the failure type BadReturn:

        client.failures.jobs("BadReturn")
    """


@dataclass(frozen=True, slots=True)
class Next:
    """An outcome that moves the job to another queue, with optional new data and a delay.

    return [Next("review", delay=60) if row["amount"] > 1000 else None for row in rows]
    """

    queue: str
    data: Any = UNSET
    delay: Span = 0

    def __post_init__(self) -> None:
        text("the queue of a Next", self.queue, Limits().name)
        milliseconds("delay", self.delay)


def outcomes_of(returned: Any, ids: Sequence[str]) -> list[Any]:
    """Return one outcome for each of these jobs.

    Raises BadReturn if the return value does not have one outcome for each job.
    """
    if returned is None:
        return [None] * len(ids)
    table = _as_table(returned)
    if table is not None:
        return _of_table(table, ids)
    values = _as_list(returned)
    if len(values) != len(ids):
        raise BadReturn(f"the function got {len(ids)} jobs but returned {len(values)} values")
    return values


def moved_to(outcome: Any, queue: str) -> Any:
    """Convert a successful outcome to a move to this queue. A value becomes the job's new data."""
    if isinstance(outcome, BaseException | Next):
        return outcome
    return Next(queue) if outcome is None else Next(queue, outcome)


def _as_table(returned: Any) -> pa.Table | None:
    if isinstance(returned, pa.RecordBatch):
        return pa.Table.from_batches([returned])
    if isinstance(returned, pa.Table):
        return returned
    if type(returned).__name__ == "DataFrame" and hasattr(returned, "columns"):
        try:
            return pa.Table.from_pandas(returned, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise BadReturn(
                f"the returned DataFrame cannot be converted to Arrow: {error}"
            ) from error
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
        "the function must return None, a table, a DataFrame, or a list or array with one value "
        f"for each job, not {type(returned).__name__}"
    )


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python value. Return any other value unchanged."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _of_table(table: pa.Table, ids: Sequence[str]) -> list[Any]:
    columns = {name: table.column(at) for at, name in enumerate(table.column_names)}
    if len(columns) < table.num_columns:
        raise BadReturn("the returned table has two columns with the same name")
    values = _values(columns, table.num_rows)
    failures, messages, spans, queues = (
        columns[name].to_pylist() if name in columns else [None] * table.num_rows
        for name in (FAILURE, MESSAGE, RETRY_IN, NEXT)
    )
    found = [_outcome(*row) for row in zip(values, failures, messages, spans, queues, strict=True)]
    return _aligned(found, columns["id"].to_pylist() if "id" in columns else None, ids)


def _values(columns: dict[str, Any], count: int) -> list[Any]:
    """Return one value for each row, from all columns except job and outcome columns."""
    named = [
        (name.removeprefix(f"{DATA}."), column)
        for name, column in columns.items()
        if name not in JOB_COLUMNS and name not in OUTCOME_COLUMNS
    ]
    if not named:
        return [None] * count
    names = [name for name, _ in named]
    lists = [column.to_pylist() for _, column in named]
    if names == [DATA]:
        return list(lists[0])
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadReturn(f"columns {min(twice)!r} and 'data.{min(twice)}' are the same field")
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _outcome(value: Any, failure: Any, message: Any, retry_in: Any, queue: Any) -> Any:
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


def _aligned(outcomes: list[Any], named: list[Any] | None, ids: Sequence[str]) -> list[Any]:
    if named is None:
        if len(outcomes) != len(ids):
            raise BadReturn(
                f"the function got {len(ids)} jobs but returned {len(outcomes)} rows; with a "
                "column named id, the rows may be in any order, but every job needs a row"
            )
        return outcomes
    by_id = dict(zip(named, outcomes, strict=True))
    if len(by_id) < len(named) or by_id.keys() != set(ids):
        wrong = set(ids) ^ by_id.keys() or {name for name in named if named.count(name) > 1}
        raise BadReturn(
            f"the returned ids must be the ids of the {len(ids)} jobs, each exactly once; for "
            f"example, {min(map(str, wrong))!r} is wrong"
        )
    return [by_id[job_id] for job_id in ids]


# The calls


def by_row(function: Function, rows: Sequence[JobRow]) -> dict[str, Any]:
    """Call the function with one row at a time, and return an outcome for each job id."""
    return {row.id: _of_row(function, row) for row in rows}


def _of_row(function: Function, row: JobRow) -> Any:
    try:
        return outcomes_of([function(row)], [row.id])[0]
    except FUNCTION_FAILS as error:
        return error


def by_table(
    function: Function, rows: Sequence[JobRow], frame: str, schema: pa.Schema | None
) -> dict[str, Any]:
    """Call the function with a table, and return an outcome for each job id.

    If the rows do not fit into one table, the function is called with several tables.
    """
    tables, misfits = tabular(rows, schema)
    found: dict[str, Any] = {**misfits}
    called = (lambda some: function(some.to_pandas())) if frame == "pandas" else function
    for part, table in tables:
        found.update(_in_halves(called, part, table))
    return found


def _in_halves(function: Function, rows: Sequence[JobRow], table: pa.Table) -> dict[str, Any]:
    """Call the function with a table. After a failure, call the function with halves of the table.

    A half that fails is halved again, down to single rows. If further calls would exceed
    MOST_CALLS, all rows of the failed part fail together.
    """
    found: dict[str, Any] = {}
    parts = deque([(rows, table)])
    calls = 0
    while parts:
        some, given = parts.popleft()
        ids = [row.id for row in some]
        calls += 1
        try:
            found.update(zip(ids, outcomes_of(function(given), ids), strict=True))
        except FUNCTION_FAILS as error:
            if len(some) == 1 or calls + len(parts) + 2 > MOST_CALLS:
                found.update(dict.fromkeys(ids, error))
            else:
                middle = len(some) // 2
                parts.append((some[:middle], given.slice(0, middle)))
                parts.append((some[middle:], given.slice(middle)))
    return found
