"""thoonk: feeds with items and configs; jobs in lists, by the spellings that the document has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace import Client, ImportRefused
from headrace.codecs.codec import codec_of
from tests.compat.importing.old import Old, imported, line_of
from tests.proof import proves

LEAF = """
SADD feeds news
SET feed.config:news '{"type": "leaf", "max_length": 3, "about": "x"}'
LPUSH feed.ids:news 1 2 3
HSET feed.items:news 1 one 2 two 3 three
"""
JOBS = """
SADD feeds work
SET feed.config:work '{"type": "job"}'
LPUSH feed.ids:work w1 w2
LPUSH feed.running:work r2 r1
RPUSH feed.stalled:work s1 s2
HSET feed.items:work w1 1 w2 2 r1 3 r2 4 s1 5 s2 6
HSET feed.claimed:work r1 1417696237 r2 1417696300 s1 1417696001
HSET feed.cancelled:work w2 2 s1 1
"""


@pytest.fixture
def raw(hr: Client) -> Client:
    """The client, with bytes as they are."""
    hr.core.codec = codec_of("raw")
    return hr


@proves("T-08", "T-17", "T-05")
def test_a_leaf_becomes_a_feed_with_its_items_in_order(hr: Client, old: Old, raw: Client) -> None:
    old.lay(LEAF)

    found = imported(hr, old, "thoonk")

    assert found.counts == {("news", "items"): 3}
    feed = raw.feed("news")
    assert list(feed.all().items()) == [("3", b"three"), ("2", b"two"), ("1", b"one")]
    assert feed.settings().max_length == 3
    assert feed.settings().about == '{"type":"leaf","max_length":3,"about":"x"}'
    feed.retract("2")
    assert imported(hr, old, "thoonk").brought.made == 0
    assert feed.ids() == ["3", "1"]


@proves("TL-02", "TL-04")
def test_later_versions_have_sorted_sets_hashes_and_sorted_feeds(
    hr: Client, old: Old, raw: Client
) -> None:
    old.lay("""
        SADD feeds a line
        HSET feed.config:a type feed max_length 0
        ZADD feed.ids:a 1 x 2 y
        HSET feed.items:a x 1 y 2 stray 3
        HSET feed.config:line type sorted_feed
        RPUSH feed.ids:line 2 1 7
        HSET feed.items:line 1 one 2 two 7 seven
        SET feed.idincr:line 7
    """)

    found = imported(hr, old, "thoonk")

    assert raw.feed("a").ids(order="oldest") == ["stray", "x", "y"]
    assert found.plan.left_out == ["stray: has no place in 'a', and comes before all others"]
    line = raw.feed("line")
    assert list(line.all().items()) == [("2", b"two"), ("1", b"one"), ("7", b"seven")]
    assert line.publish(b"eight") == "8"


@proves("T-57", "T-50", "T-55", "TD-05")
def test_jobs_wait_run_or_are_stalled(hr: Client, old: Old) -> None:
    old.lay(JOBS)

    found = imported(hr, old, "thoonk")

    assert found.counts == {
        ("work", "running"): 2,
        ("work", "waiting"): 2,
        ("work", "stalled"): 2,
    }
    work = hr.queue("work")
    assert [job.id for job in work.jobs("waiting").jobs] == ["r1", "r2", "w1", "w2"]
    assert [job.releases for job in work.jobs("waiting").jobs] == [0, 0, 0, 2]
    stalled = {job.id: job for job in hr.failed("stalled").jobs}
    assert stalled.keys() == {"s1", "s2"}
    assert stalled["s1"].failure is not None
    assert stalled["s1"].failure.at == datetime.fromtimestamp(1417696001, UTC)
    assert work.settings()["returns"] == "back"
    assert hr.feed("work").settings().about == '{"type":"job"}'


@proves("TD-01")
@pytest.mark.parametrize(
    ("items", "running"),
    [
        ("feed.items:work", "feed.running:work"),
        ("feed.items.work", "feed:jobrunning:work"),
        ("feed:items:work", "feed.jobrunning:work"),
        ("feed:itemswork", "feed.running:work"),
    ],
)
def test_roles_are_known_by_each_of_their_spellings(
    hr: Client, old: Old, items: str, running: str
) -> None:
    old.lay(JOBS.replace("feed.items:work", items).replace("feed.running:work", running))

    imported(hr, old, "thoonk")

    assert line_of(hr.queue("work")) == [b"3", b"4", b"1", b"2"]


@proves("T-45", "TD-13")
@pytest.mark.parametrize(
    "key", ["feed.jobfinished:work:done", "feed:jobfinished:work:done", "feed.finished:work\0done"]
)
def test_a_result_waits_to_be_taken(hr: Client, old: Old, raw: Client, key: str) -> None:
    old.lay('SADD feeds work\nSET feed.config:work \'{"type": "job"}\'')
    old.say("RPUSH", key, b"item\0result\0with zeros")

    assert imported(hr, old, "thoonk").counts == {("work", "finished"): 1}

    result = raw.result("done")
    assert (result.data, result.value) == (b"item", b"result\0with zeros")


@proves("T-31", "TD-10")
def test_a_queue_hands_out_once(hr: Client, old: Old) -> None:
    old.lay("""
        SADD feeds line
        SET feed.config:line '{"type": "queue"}'
        LPUSH feed.ids:line 1 2 gone
        HSET feed.items:line 1 one 2 two taken x
    """)

    found = imported(hr, old, "thoonk")

    assert line_of(hr.queue("line")) == [b"one", b"two"]
    assert found.plan.left_out == [
        "gone: an id of 'line' without an item",
        "taken: was taken from 'line', and stayed",
    ]
    assert hr.queue("line").settings()["removes"] is True


def test_a_job_that_got_lost_between_two_steps_waits(hr: Client, old: Old) -> None:
    old.lay(JOBS.replace("LPUSH feed.running:work r2 r1", "SET unrelated x"))
    old.say("HDEL", "feed.claimed:work", "r1", "r2")

    imported(hr, old, "thoonk")

    assert line_of(hr.queue("work")) == [b"3", b"4", b"1", b"2"]


@proves("TD-03", "T-04")
def test_configs_and_counters_that_say_nothing_are_told(hr: Client, old: Old) -> None:
    old.lay("""
        SADD feeds odd work
        SET feed.config:odd 'no json'
        LPUSH feed.ids:odd 1
        HSET feed.items:odd 1 one
        SET feed.cancelled:work 3
    """)

    found = imported(hr, old, "thoonk")

    assert found.counts == {("odd", "items"): 1}
    assert found.plan.left_out == [
        "feed.cancelled:work: a counter of cancels of all jobs together says nothing of one",
        "odd: its config says no type that there is; it is taken for a leaf",
        "feed.config:odd: this config is not a JSON object, so the feed has none here",
    ]


def test_only_some_feeds_are_brought(hr: Client, old: Old) -> None:
    old.lay(LEAF + JOBS)

    assert imported(hr, old, "thoonk", None, "news").counts == {("news", "items"): 3}
    assert not hr.feed_exists("work")


@pytest.mark.parametrize("keys", ["LPUSH feeds x", "SET other x", ""])
def test_what_is_no_thoonk_is_refused(hr: Client, old: Old, keys: str) -> None:
    old.lay(keys)

    with pytest.raises(ImportRefused, match="has nothing of thoonk: there is no set 'feeds'"):
        imported(hr, old, "thoonk")


def test_a_feed_of_another_kind_is_not_mixed_up(hr: Client, old: Old) -> None:
    hr.create_feed("news", sorted=True)
    old.lay(LEAF)

    with pytest.raises(ImportRefused, match="is there already, and is sorted"):
        imported(hr, old, "thoonk")
