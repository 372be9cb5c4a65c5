"""Whatever happens to jobs that wait for jobs, the scripts do what the model does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.model.links.steps import Step, every_step, plain_steps
from tests.model.links.twin import Pair
from tests.model.links.walks import smallest_steps
from tests.proof import proves
from tests.support.effort import EFFORT

SETTINGS = settings(
    max_examples=60 * EFFORT,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


def take(pair: Pair, steps: list[Step]) -> None:
    with pair.hr:
        for name, arguments, by_name in steps:
            getattr(pair, name)(*arguments, **by_name)
        pair.leave_nothing()


@proves("QL-11")
@pytest.mark.timeout(300 * EFFORT)
@given(steps=every_step)
@SETTINGS
def test_the_scripts_do_what_the_model_does(valkey_url: str, steps: list[Step]) -> None:
    take(Pair(valkey_url), steps)


@proves("QL-11")
@pytest.mark.timeout(300 * EFFORT)
@given(steps=plain_steps)
@SETTINGS
def test_they_do_it_also_in_the_smallest_steps(valkey_url: str, steps: list[Step]) -> None:
    take(Pair(valkey_url, smallest_steps({}), slow=True), steps)
