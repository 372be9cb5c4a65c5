"""Claims, tags and tracked jobs in any order of operations: every index is the model's, always."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.model.jobs.machine import Machine
from tests.model.jobs.steps import Step, tied_steps
from tests.proof import proves
from tests.support import servers
from tests.support.effort import EFFORT

SETTINGS = settings(
    max_examples=60 * EFFORT,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def private_url() -> Iterator[str]:
    """A server for these tests alone: they look at all its keys."""
    with servers.valkey() as url:
        yield url


@proves("C-08", "WL-01", "QL-13", "QL-15")
@pytest.mark.slow
@pytest.mark.timeout(300 * EFFORT)
def test_claims_tags_and_tracked_jobs_are_those_of_the_model(private_url: str) -> None:
    class Tied(Machine):
        def __init__(self) -> None:
            super().__init__(private_url, ("job", "manual", "fifo"))

        @rule(step=tied_steps)
        def do(self, step: Step) -> None:
            super().do(step)

    run_state_machine_as_test(Tied, settings=SETTINGS)
