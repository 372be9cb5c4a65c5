"""Instructions per call: counted for every operation if valgrind is installed."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.instructions.measure import Effort, count_instructions

pytestmark = [
    pytest.mark.skipif(shutil.which("vgdb") is None, reason="needs valgrind"),
    pytest.mark.timeout(600),
]


def test_every_operation_has_counts_of_client_and_server() -> None:
    counted = count_instructions(Effort(calls=2, turns=1, warm_up=2, idle=0))

    assert [each.operation for each in counted] == [
        *("put", "put with options", "pop", "complete", "turn of a worker"),
    ]
    assert all(each.client > 10_000 for each in counted)
    assert all(each.server > 10_000 for each in counted)
