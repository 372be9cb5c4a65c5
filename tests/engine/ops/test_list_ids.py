"""listed: the ids of a page are merged over shards before jobs are read."""

from __future__ import annotations

import pytest

from headrace import InvalidArgument
from headrace.operations.paging import LAST_POSITION
from headrace.testing import open_with_clock


def test_late_page_over_shards_reads_only_the_jobs_it_shows(valkey_url: str) -> None:
    client, _ = open_with_clock(valkey_url, shards=4)
    with client:
        queue = client.queue("mail")
        put = queue.put_many(range(5000))

        pages = [
            queue.jobs("waiting", offset=offset, count=1000) for offset in range(0, 5000, 1000)
        ]

        assert {page.total for page in pages} == {5000}
        assert sorted(job.id for page in pages for job in page.jobs) == sorted(put)
        assert queue.jobs("waiting", offset=5000).jobs == []


def test_a_page_too_far_over_shards_is_refused(valkey_url: str) -> None:
    client, _ = open_with_clock(valkey_url, shards=2)
    with client, pytest.raises(InvalidArgument, match=f"at most {LAST_POSITION}, not"):
        client.queue("mail").jobs("waiting", offset=LAST_POSITION)


def test_late_page_of_one_shard_is_one_step(valkey_url: str) -> None:
    client, _ = open_with_clock(valkey_url)
    with client:
        queue = client.queue("mail")
        last = queue.put_many(range(3000))[-1]

        assert [job.id for job in queue.jobs("waiting", offset=2999).jobs] == [last]
