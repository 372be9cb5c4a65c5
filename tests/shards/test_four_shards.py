"""Four shards on one server."""

from __future__ import annotations

import pytest

from tests.shards.conftest import Place
from tests.shards.feeds import Feeds
from tests.shards.jobs import Jobs
from tests.shards.limits import Limits
from tests.shards.links import Links
from tests.shards.schedules import Schedules
from tests.shards.ties import Ties
from tests.shards.views import Views
from tests.shards.workers import Workers


@pytest.fixture
def place(valkey_url: str) -> Place:
    return Place(valkey_url, 4)


class TestFeeds(Feeds):
    """What becomes of feeds."""


class TestJobs(Jobs):
    """What becomes of jobs."""


class TestLimits(Limits):
    """Limits of queues, throttles and keys."""


class TestSchedules(Schedules):
    """Schedules and the jobs they make."""


class TestLinks(Links):
    """Jobs that wait for jobs."""


class TestTies(Ties):
    """Unique values, tags, tracked jobs."""


class TestViews(Views):
    """Listings, counts and statistics."""


class TestWorkers(Workers):
    """Sessions, dead workers, waiting."""
