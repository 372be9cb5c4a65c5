"""Instructions per call: counted for every operation if valgrind is installed."""

from __future__ import annotations

import platform
import shutil

import pytest

from benchmarks import cost_report
from benchmarks.instructions.measure import Effort, count_instructions, count_server_instructions

needs_valgrind = pytest.mark.skipif(shutil.which("vgdb") is None, reason="needs valgrind")
pytestmark = pytest.mark.timeout(600)

CALLS = (
    *("put", "put with options", "pop", "complete"),
    *("put, in batches", "put with options, in batches", "pop, in batches"),
    *("complete, in batches", "put with a key under limits"),
    *("pop with a key under limits", "complete with a key under limits"),
)
TOLERANCE = 0.05
# The highest allowed ratio of server instructions: a call with options compared with a plain call.
AT_MOST = [
    ("put with options", "put", 1.5),
    # Each job is listed in two sorted sets of tags, which takes more than a fifth of a plain put.
    ("put with options, in batches", "put, in batches", 1.35),
    ("put with a key under limits", "put", 2.0),
    ("pop with a key under limits", "pop", 2.0),
    ("complete with a key under limits", "complete", 2.0),
]


@pytest.fixture
def stored() -> dict[str, float]:
    """The stored counts of the server, by operation."""
    report = cost_report.newest()
    assert report is not None
    if report.processor != platform.machine():
        pytest.skip(f"the stored instructions are those of {report.processor}")
    return {each.operation: each.server for each in report.instructions}


@needs_valgrind
def test_every_operation_has_counts_of_client_and_server() -> None:
    counted = count_instructions(Effort(calls=2, turns=1, warm_up=2, idle=0))

    assert [each.operation for each in counted] == [*CALLS, "turn of a worker"]
    assert all(each.client > 10_000 for each in counted)
    assert all(each.server > 10_000 for each in counted)


@needs_valgrind
def test_stored_counts_are_those_of_this_version(stored: dict[str, float]) -> None:
    counted = count_server_instructions(Effort())

    assert tuple(counted) == CALLS
    changes = {name: count / stored[name] - 1 for name, count in counted.items()}
    large = {name: f"{change:+.1%}" for name, change in changes.items() if abs(change) > TOLERANCE}
    assert large == {}, "the counts have changed: run `make bench-costs` and commit the results"


@pytest.mark.parametrize(("operation", "plain", "at_most"), AT_MOST)
def test_calls_with_options_execute_a_bounded_number_of_instructions(
    stored: dict[str, float], operation: str, plain: str, at_most: float
) -> None:
    assert stored[operation] <= at_most * stored[plain]
