"""Every operation that changes something, in any order, does what the model does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.jobs.machine import Machine
from tests.support import servers
from tests.support.effort import EFFORT

SETTINGS = settings(
    max_examples=80 * EFFORT,
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def private_url() -> Iterator[str]:
    """A server for these tests alone: they look at all its keys."""
    with servers.valkey() as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(900 * EFFORT)
@pytest.mark.parametrize("profiles", [("job", "task", "manual"), ("job", "ring", "fifo")], ids=str)
def test_the_server_does_what_the_model_does(
    private_url: str, profiles: tuple[str, str, str]
) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(private_url, profiles)

    run_state_machine_as_test(Here, settings=SETTINGS)
