"""Feeds, jobs and results of thoonk in detail."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace import Client, ImportRefused
from headrace.codecs.codec import codec_of
from tests.compat.importing.support.installation import Installation, run_import
from tests.compat.importing.test_sources import JOBS, LEAF
from tests.proof import proves


@pytest.fixture
def raw(hr: Client) -> Client:
    """The client hr with the raw codec."""
    hr.core.codec = codec_of("raw")
    return hr


@proves("T-08", "T-17", "T-05")
def test_leaf_becomes_a_feed_with_its_items_in_order(raw: Client, old: Installation) -> None:
    old.write(LEAF)

    found = run_import(raw, old, "thoonk")

    assert found.plan.counts == {("news", "items"): 3}
    feed = raw.feed("news")
    assert list(feed.all().items()) == [("3", b"three"), ("2", b"two"), ("1", b"one")]
    assert feed.settings().max_length == 3
    assert feed.settings().about == '{"type":"leaf","max_length":3,"about":"x"}'
    feed.retract("2")
    assert run_import(raw, old, "thoonk").result.imported == 0
    assert feed.ids() == ["3", "1"]


@proves("TL-02", "TL-04")
def test_later_versions_have_sorted_sets_hashes_and_sorted_feeds(
    raw: Client, old: Installation
) -> None:
    old.write("""
        SADD feeds a line
        HSET feed.config:a type feed max_length 0
        ZADD feed.ids:a 1 x 2 y
        HSET feed.items:a x 1 y 2 stray 3
        HSET feed.config:line type sorted_feed
        RPUSH feed.ids:line 2 1 7
        HSET feed.items:line 1 one 2 two 7 seven
        SET feed.idincr:line 7
    """)

    found = run_import(raw, old, "thoonk")

    assert raw.feed("a").ids(order="oldest") == ["stray", "x", "y"]
    assert found.plan.left_out == [
        "stray: not in the list of ids of 'a'; imported before the other items"
    ]
    line = raw.feed("line")
    assert list(line.all().items()) == [("2", b"two"), ("1", b"one"), ("7", b"seven")]
    assert line.publish(b"eight") == "8"


@proves("T-57", "T-50", "T-55", "TD-05")
def test_jobs_keep_cancels_and_stalled_jobs_are_failed(hr: Client, old: Installation) -> None:
    old.write(JOBS)

    run_import(hr, old, "thoonk")

    work = hr.queue("work")
    assert [job.id for job in work.jobs("waiting").jobs] == ["r1", "r2", "w1", "w2"]
    assert [job.releases for job in work.jobs("waiting").jobs] == [0, 0, 0, 2]
    stalled = {job.id: job for job in hr.failures.jobs("stalled").jobs}
    assert stalled.keys() == {"s1", "s2"}
    assert stalled["s1"].failure is not None
    assert stalled["s1"].failure.at == datetime.fromtimestamp(1417696001, UTC)
    assert work.settings()["returns"] == "back"
    assert hr.feed("work").settings().about == '{"type":"job"}'


@proves("T-31", "TD-10")
def test_queue_removes_what_it_hands_out(hr: Client, old: Installation) -> None:
    old.write('SADD feeds line\nSET feed.config:line \'{"type": "queue"}\'')

    run_import(hr, old, "thoonk")

    assert hr.queue("line").settings()["removes"] is True


@proves("T-45", "TD-13")
@pytest.mark.parametrize(
    "key", ["feed.jobfinished:work:done", "feed:jobfinished:work:done", "feed.finished:work\0done"]
)
def test_result_can_be_taken(raw: Client, old: Installation, key: str) -> None:
    old.write('SADD feeds work\nSET feed.config:work \'{"type": "job"}\'')
    old.run("RPUSH", key, b"item\0result\0with zeros")

    assert run_import(raw, old, "thoonk").plan.counts == {("work", "finished"): 1}

    result = raw.result("done")
    assert (result.data, result.value) == (b"item", b"result\0with zeros")


def test_feed_of_another_kind_is_refused(hr: Client, old: Installation) -> None:
    hr.feeds.create("news", sorted=True)
    old.write(LEAF)

    with pytest.raises(ImportRefused, match="already has a sorted feed 'news'"):
        run_import(hr, old, "thoonk")
