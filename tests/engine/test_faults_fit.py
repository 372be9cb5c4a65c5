"""Every planted fault still fits its script, including those that only the long tests run."""

from __future__ import annotations

from itertools import chain

import pytest

from headrace.engine.compose import Composer
from headrace.engine.source import parsed, source
from tests.engine import faults, tie_faults, write_faults
from tests.engine.faults import Fault
from tests.engine.limits import test_machine as limits
from tests.engine.links import faults as links
from tests.engine.schedules import faults as schedules
from tests.feeds import faults as feeds

LISTS = (
    faults.FAULTS,
    tie_faults.TIES,
    write_faults.WRITE_FAULTS,
    limits.FAULTS,
    links.FAULTS,
    schedules.FAULTS,
    feeds.FAULTS,
)


@pytest.mark.parametrize("fault", list(chain.from_iterable(LISTS)), ids=str)
def test_a_fault_fits_the_text_of_its_script(fault: Fault) -> None:
    [(name, text)] = fault.swaps().items()
    swapped = name if name.startswith("ops/") else f"lib/{name}"
    composer = Composer(lambda file: parsed(file, text) if file == swapped else source(file))
    composer.check_names(parsed(swapped, text))
