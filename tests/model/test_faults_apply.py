"""Every planted fault applies to its file, including faults that only the long tests run."""

from __future__ import annotations

from itertools import chain

import pytest
import redis

from headrace.engine.script import LIBRARY, Library
from tests.model.feeds import faults as feeds
from tests.model.harness import Fault
from tests.model.jobs import faults as jobs
from tests.model.jobs import tag_faults as tags
from tests.model.limits import faults as limits
from tests.model.links import faults as links
from tests.model.outages import faults as outages
from tests.model.repeats import faults as repeats
from tests.model.rights import faults as rights
from tests.model.schedules import faults as schedules
from tests.model.writes import faults as writes

TABLES = (
    jobs.FAULTS,
    tags.TAG_FAULTS,
    writes.WRITE_FAULTS,
    limits.FAULTS,
    links.FAULTS,
    outages.FAULTS,
    repeats.FAULTS,
    rights.FAULTS,
    schedules.FAULTS,
    feeds.FAULTS,
)


@pytest.mark.parametrize("fault", list(chain.from_iterable(TABLES)), ids=str)
def test_fault_applies_to_the_text_of_its_file(valkey_url: str, fault: Fault) -> None:
    library = Library(swaps=fault.swaps())
    assert library.name != LIBRARY.name
    with redis.Redis.from_url(valkey_url) as server:
        # If the changed library did not compile, tests would fail for the wrong reason.
        server.function_load(library.text)
        server.function_delete(library.name)
