"""Random steps: the scripts of dependencies do what the model does."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.model.links.steps import Step, every_step, plain_steps
from tests.model.links.twin import LinkTwin
from tests.proof import proves
from tests.support.effort import EFFORT, examples


def take(twin: LinkTwin, steps: list[Step]) -> None:
    with twin:
        for name, arguments, by_name in steps:
            getattr(twin, name)(*arguments, **by_name)
        twin.leave_nothing()


@proves("QL-11")
@pytest.mark.timeout(300 * EFFORT)
@given(steps=every_step)
@examples(60)
def test_random_steps_match_the_model(private_url: str, steps: list[Step]) -> None:
    take(LinkTwin(private_url), steps)


@proves("QL-11")
@pytest.mark.timeout(300 * EFFORT)
@given(steps=plain_steps)
@examples(60)
def test_random_steps_match_the_model_in_the_smallest_steps(
    private_url: str, steps: list[Step]
) -> None:
    take(LinkTwin(private_url, slow=True), steps)
