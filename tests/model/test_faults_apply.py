"""Every planted fault still applies to its script, also those that only the long tests run."""

from __future__ import annotations

from itertools import chain

import pytest

from headrace.engine.compose import Composer
from headrace.engine.source import parsed, source
from tests.model.feeds import faults as feeds
from tests.model.harness import Fault
from tests.model.jobs import faults as jobs
from tests.model.jobs import tag_faults as tags
from tests.model.limits import faults as limits
from tests.model.links import faults as links
from tests.model.schedules import faults as schedules
from tests.model.writes import faults as writes

TABLES = (
    jobs.FAULTS,
    tags.TIES,
    writes.WRITE_FAULTS,
    limits.FAULTS,
    links.FAULTS,
    schedules.FAULTS,
    feeds.FAULTS,
)


@pytest.mark.parametrize("fault", list(chain.from_iterable(TABLES)), ids=str)
def test_fault_applies_to_the_text_of_its_script(fault: Fault) -> None:
    [(name, text)] = fault.swaps().items()
    swapped = name if name.startswith("ops/") else f"lib/{name}"
    composer = Composer(lambda file: parsed(file, text) if file == swapped else source(file))
    composer.check_names(parsed(swapped, text))
