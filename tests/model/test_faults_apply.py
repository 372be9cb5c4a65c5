"""Every planted fault can still be planted, also those that only the long run tries."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.model.feeds import faults as feeds
from tests.model.jobs import faults
from tests.model.jobs import tag_faults as tie_faults
from tests.model.jobs.faults import Fault
from tests.model.limits import test_state_machine as limits
from tests.model.links import faults as links
from tests.model.schedules import faults as schedules
from tests.model.writes import faults as write_faults

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
