from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from headrace import Discard, InvalidArgument, Retry
from headrace.spark import BadReturn, Next
from headrace.spark.executors.outcomes import moved_to, outcomes_of

IDS = ["a", "b"]


def of_columns(**columns: Any) -> list[Any]:
    return outcomes_of(pa.table(columns), IDS)


def test_none_is_success_for_all_jobs() -> None:
    assert outcomes_of(None, IDS) == [None, None]


@pytest.mark.parametrize(
    "returned",
    [
        [1, 2],
        (np.int64(1), np.int64(2)),
        np.array([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        pd.Series([1, 2]),
    ],
)
def test_values_are_results_in_order(returned: Any) -> None:
    found = outcomes_of(returned, IDS)
    assert found == [1, 2]
    assert {type(value) for value in found} == {int}


def test_rows_are_results_without_job_columns() -> None:
    found = outcomes_of(
        pa.table({"id": IDS, "attempt": [1, 1], "data.x": [1, 2], "score": [0.5, None]}), IDS
    )
    assert found == [{"x": 1, "score": 0.5}, {"x": 2, "score": None}]


def test_frames_and_record_batches_are_accepted() -> None:
    frame = pd.DataFrame({"score": [0.5, float("nan")]})
    assert outcomes_of(frame, IDS) == [{"score": 0.5}, {"score": None}]
    batch = pa.RecordBatch.from_pydict({"score": [1, 2]})
    assert outcomes_of(batch, IDS) == [{"score": 1}, {"score": 2}]


def test_single_data_column_is_the_result() -> None:
    assert of_columns(data=[7, 8]) == [7, 8]


def test_column_id_restores_the_order() -> None:
    assert of_columns(id=["b", "a"], n=[2, 1]) == [{"n": 1}, {"n": 2}]


def test_failure_is_permanent_without_retry_in() -> None:
    found = of_columns(failure=["Bad", "Busy"], message=["why", None], retry_in=[None, 1.5])
    assert isinstance(found[0], Discard)
    assert (found[0].failure, found[0].message) == ("Bad", "why")
    assert isinstance(found[1], Retry)
    assert (found[1].failure, found[1].message, found[1].delay) == ("Busy", "", 1.5)


def test_column_next_moves_the_job() -> None:
    assert of_columns(next=["store", None], n=[1, 2]) == [Next("store", {"n": 1}), {"n": 2}]
    assert of_columns(next=["store", None]) == [Next("store"), None]


def test_success_moves_to_next_queue() -> None:
    error = ValueError()
    assert moved_to(None, "store") == Next("store")
    assert moved_to(0, "store") == Next("store", 0)
    assert moved_to(Next("else"), "store") == Next("else")
    assert moved_to(error, "store") is error


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("text", "must return None"),
        (5, "must return None"),
        ({"a": 1}, "must return None"),
        (np.float64(3), "must return None"),
        ([1], "got 2 jobs but returned 1 values"),
        (pa.table({"n": [1]}), "got 2 jobs but returned 1 rows"),
        (pa.table({"id": ["a"]}), "'b' is wrong"),
        (pa.table({"id": ["a", "c"]}), "must be the ids of the 2 jobs"),
        (pa.table({"id": ["a", "a"]}), "'b' is wrong"),
        (pa.table({"id": ["a", "b", "b"]}), "'b' is wrong"),
        (pa.table({"id": ["a", None]}), "must be the ids of the 2 jobs"),
        (pa.table({"data.x": [1, 2], "x": [1, 2]}), "same field"),
        (pa.table([[1, 2], [1, 2]], names=["x", "x"]), "two columns with the same name"),
        (pa.table({"failure": ["", "x"]}), "failure must be"),
        (pa.table({"failure": ["x", "x"], "retry_in": [-1, 1]}), "delay"),
        (pa.table({"next": [1, 2]}), "queue of a Next"),
        (pd.DataFrame({"x": [1, "y"]}), "cannot be converted to Arrow"),
    ],
)
def test_incomplete_return_value_is_refused(returned: Any, words: str) -> None:
    with pytest.raises(BadReturn, match=words):
        outcomes_of(returned, IDS)


@pytest.mark.parametrize(("queue", "delay"), [("", 0), (7, 0), ("q", -1), ("q", "soon")])
def test_next_checks_its_arguments(queue: Any, delay: Any) -> None:
    with pytest.raises(InvalidArgument):
        Next(queue, delay=delay)
