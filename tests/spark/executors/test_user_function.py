from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from headrace import Discard
from headrace.spark import BadReturn, JobRow, Next
from headrace.spark.executors.outcomes import MOST_CALLS, by_row, by_table


def rows(count: int) -> list[JobRow]:
    return [JobRow(f"job-{n}", 1, 0, [], {"n": n}) for n in range(count)]


def failing_for(poison: set[int], calls: list[int]) -> Any:
    def function(table: pa.Table) -> Any:
        numbers = table["data.n"].to_pylist()
        calls.append(len(numbers))
        if poison & set(numbers):
            raise ValueError("poison")
        return numbers

    return function


def failed(found: dict[str, Any]) -> set[str]:
    return {job_id for job_id, verdict in found.items() if isinstance(verdict, BaseException)}


def test_one_call_for_all_jobs() -> None:
    calls: list[int] = []
    found = by_table(failing_for(set(), calls), rows(1000), "arrow", None)
    assert found == {f"job-{n}": n for n in range(1000)}
    assert calls == [1000]


def test_poison_jobs_fail_alone() -> None:
    calls: list[int] = []
    found = by_table(failing_for({17, 900}, calls), rows(1000), "arrow", None)
    assert failed(found) == {"job-17", "job-900"}
    assert found["job-16"] == 16
    assert len(found) == 1000
    assert len(calls) < MOST_CALLS


def test_function_that_always_fails_is_called_limited_times() -> None:
    calls: list[int] = []
    found = by_table(failing_for(set(range(1000)), calls), rows(1000), "arrow", None)
    assert len(failed(found)) == 1000
    assert len(calls) == MOST_CALLS - 1


def test_wrong_return_value_fails_only_the_jobs_that_cause_it() -> None:
    def forgets_one(table: pa.Table) -> Any:
        return [n for n in table["data.n"].to_pylist() if n != 3]

    found = by_table(forgets_one, rows(10), "arrow", None)
    assert failed(found) == {"job-3"}
    assert isinstance(found["job-3"], BadReturn)


def test_function_that_exits_fails_only_its_jobs() -> None:
    def leaves(_: pa.Table) -> Any:
        sys.exit(3)

    assert failed(by_table(leaves, rows(1), "arrow", None)) == {"job-0"}


def test_jobs_that_do_not_fit_are_not_passed_to_the_function() -> None:
    schema = pa.schema([("n", pa.int64())])
    given = [*rows(3), JobRow("odd", 1, 0, [], {"n": "x"})]
    seen: list[int] = []
    found = by_table(failing_for(set(), seen), given, "arrow", schema)
    assert failed(found) == {"odd"}
    assert isinstance(found["odd"], Discard)
    assert sum(seen) == 3


def test_function_may_change_its_pandas_frame() -> None:
    def doubles(frame: Any) -> Any:
        frame["n"] = frame.pop("data.n") * 2
        return frame[["id", "n"]].sort_values("n", ascending=False)

    assert by_table(doubles, rows(2), "pandas", None) == {"job-0": {"n": 0}, "job-1": {"n": 2}}


def test_rows_frame_has_an_outcome_for_each_job() -> None:
    def function(row: JobRow) -> Any:
        if row.data["n"] == 1:
            raise Discard("no")
        return [row.id, None, Next("on")][row.data["n"]]

    found = by_row(function, rows(3))
    assert found["job-0"] == "job-0"
    assert isinstance(found["job-1"], Discard)
    assert found["job-2"] == Next("on")
