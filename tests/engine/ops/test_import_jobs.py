"""import_jobs, import_items: jobs and items are imported unchanged and once."""

from __future__ import annotations

import pytest

from headrace import Client, FeedNotFound, Queue
from headrace.compat.importing.import_steps import ImportedId
from headrace.testing import Clock, open_with_clock
from tests.model.jobs.checks.imported_jobs import (
    COMPLETE,
    FAILED,
    bring,
    bring_items,
    items_come,
    job,
    schedules_come,
    ties_come,
)
from tests.model.jobs.checks.imported_jobs import jobs_come as come
from tests.support.dump import dump
from tests.support.jobs import found, pop_one


def test_imported_jobs_keep_their_state_and_are_imported_once(hr: Client, clock: Clock) -> None:
    come(hr, clock)

    assert hr.audit().balanced


def test_imported_items_keep_their_order_and_are_imported_once(hr: Client) -> None:
    items_come(hr)


def test_imported_jobs_keep_dependencies_and_tracking(hr: Client) -> None:
    ties_come(hr)

    assert hr.audit().balanced


def test_schedules_are_imported_once(hr: Client, clock: Clock) -> None:
    schedules_come(hr, clock)


def test_missing_feed_is_reported(hr: Client) -> None:
    before = dump(hr)

    with pytest.raises(FeedNotFound):
        bring_items(hr, "news", ("a", b"1"))
    assert dump(hr) == before


def test_import_respects_the_retention_of_the_queue(hr: Client, queue: Queue) -> None:
    queue.configure("manual")

    bring(hr, COMPLETE, FAILED, job("gone", "complete", ended=5, since=4))

    assert hr.job("gone") is None
    assert found(hr, "complete").has_result
    assert found(hr, "failed").history == []
    assert queue.counts().complete == 0
    assert hr.audit().balanced


def test_imported_job_behaves_like_any_other_job(hr: Client, queue: Queue) -> None:
    bring(hr, job("a", attempt=3), FAILED, job("b", "blocked", depends_on=("a",)))

    lease = pop_one(queue)
    assert (lease.id, lease.attempt) == ("a", 4)
    lease.complete()
    assert pop_one(queue).id == "b"
    hr.retry("failed")
    assert found(hr, "failed").state == "waiting"
    assert hr.failures.counts() == {}
    assert hr.audit().balanced


def test_taken_unique_values_are_not_given_twice(hr: Client, queue: Queue) -> None:
    queue.put(1, id="mine", unique="u")

    bring(hr, job("theirs", unique="u"))

    assert [found(hr, each).unique for each in ("mine", "theirs")] == ["u", None]
    assert hr.audit().balanced


def test_id_passed_twice_in_a_call_counts_once(hr: Client) -> None:
    taken = bring(hr, job("a"), job("a"))

    assert taken == [ImportedId("a", is_new=True), ImportedId("a", is_new=False)]


def test_import_over_shards_brings_each_job_once(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        hr.queue("mail").put(1, id="7")
        every = [job(str(number)) for number in range(20)]
        taken = bring(hr, *every)

        assert [each.is_new for each in taken] == [True] * 20
        assert [number for number, each in enumerate(taken) if each.id != str(number)] == [7]
        assert bring(hr, *every) == [ImportedId(each.id, is_new=False) for each in taken]
        assert hr.queue("mail").counts().waiting == 21
        assert hr.audit().balanced
