"""Random steps: every operation that changes something does what the model does."""

from __future__ import annotations

import pytest
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.model.jobs.machine import Machine
from tests.model.jobs.steps import Step, tag_steps
from tests.proof import proves
from tests.support.effort import EFFORT, examples


@pytest.mark.slow
@pytest.mark.timeout(900 * EFFORT)
@pytest.mark.parametrize("profiles", [("job", "task", "manual"), ("job", "ring", "fifo")], ids=str)
def test_random_steps_match_the_model(private_url: str, profiles: tuple[str, str, str]) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(private_url, profiles)

    run_state_machine_as_test(Here, settings=examples(80, stateful_step_count=50))


@proves("C-08", "WL-01", "QL-13", "QL-15")
@pytest.mark.slow
@pytest.mark.timeout(300 * EFFORT)
def test_unique_values_tags_and_tracked_jobs_match_the_model(private_url: str) -> None:
    class Tagged(Machine):
        def __init__(self) -> None:
            super().__init__(private_url, ("job", "manual", "fifo"))

        @rule(step=tag_steps)
        def do(self, step: Step) -> None:
            super().do(step)

    run_state_machine_as_test(Tagged, settings=examples(60, stateful_step_count=30))
