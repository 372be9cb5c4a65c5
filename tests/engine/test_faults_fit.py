"""Every planted fault can still be planted, also those that only the long run tries."""

from __future__ import annotations

from itertools import chain

import pytest

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
    assert fault.swaps()
