"""Random steps: no more jobs run than the limits allow, and each job that may start does."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.model.limits.machine import Machine
from tests.support.effort import EFFORT, examples


@pytest.mark.slow
@pytest.mark.timeout(900 * EFFORT)
def test_limits_hold_at_every_step(private_url: str) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(private_url)

    run_state_machine_as_test(
        Here, settings=examples(50, stateful_step_count=50, report_multiple_bugs=False)
    )
