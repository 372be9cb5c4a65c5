"""redis-queue: lists of ids, alone or with a time, and a set of those that are done."""

from __future__ import annotations

import pytest

from headrace import Client, ImportRefused
from tests.compat.importing.old import Old, imported, line_of
from tests.proof import proves

KEYS = """
LPUSH tasks 123 124
LPUSH tasks 120|1417696300
LPUSH tasks 121|1417696237
LPUSH tasks 119|1417696200
SADD tasks:done 119 7
"""


@proves("R-02", "R-15")
def test_what_runs_waits_before_what_waits_in_its_order(hr: Client, old: Old) -> None:
    old.lay(KEYS)

    found = imported(hr, old, "redis-queue")

    assert found.counts == {("tasks", "running"): 2, ("tasks", "waiting"): 2}
    assert line_of(hr.queue("tasks")) == [b"121", b"120", b"123", b"124"]
    job = hr.job("121")
    assert job is not None
    assert (job.state, job.attempt) == ("waiting", 1)
    assert job.origin is not None
    assert job.origin.endswith(":tasks/121")
    assert hr.queue("tasks").settings()["lease"] == 30


@proves("R-03", "RD-03")
def test_what_is_done_is_left_out_and_so_are_marks_of_nothing(hr: Client, old: Old) -> None:
    old.lay(KEYS)

    found = imported(hr, old, "redis-queue")

    assert found.plan.left_out == [
        "7: a done mark of 'tasks' for what is not there",
        "119: done in 'tasks', which keeps nothing of that",
    ]
    assert hr.job("119") is None


@proves("R-11")
def test_a_mark_says_nothing_of_an_id_that_was_not_popped(hr: Client, old: Old) -> None:
    old.lay("LPUSH q 1\nSADD q:done 1")

    imported(hr, old, "redis-queue")

    assert line_of(hr.queue("q")) == [b"1"]


@proves("RL-01")
def test_a_message_comes_with_its_id(hr: Client, old: Old) -> None:
    old.lay('LPUSH q:x a\nSADD q:x:done z\nSET q:x:data:a \'{"to": "ada"}\' EX 100')

    imported(hr, old, "redis-queue")

    job = hr.job("a")
    assert job is not None
    assert job.data == {"to": "ada"}


@proves("RD-04", "RD-05")
def test_ids_that_are_odd_come_once_each(hr: Client, old: Old) -> None:
    old.lay("LPUSH q a|b twice twice twice|1417696237 a||1417696237")
    old.say("LPUSH", "q", b"\xff\x00")

    found = imported(hr, old, "redis-queue")

    assert line_of(hr.queue("q")) == [b"a|", b"twice", b"a|b", b"\xff\x00"]
    assert found.plan.left_out == ["twice and 1 more: twice in 'q', which is one job here"]
    assert hr.job("a|b") is not None


def test_lists_that_nobody_popped_from_are_named_to_be_queues(hr: Client, old: Old) -> None:
    old.lay("LPUSH seen 1|1417696237\nLPUSH new 1 2\nSET other x")

    found = imported(hr, old, "redis-queue")

    assert found.counts == {("seen", "running"): 1}
    assert found.plan.left_out == ["new: nothing shows that this list is a queue; --queue names it"]

    assert imported(hr, old, "redis-queue", None, "new").counts == {("new", "waiting"): 2}
    assert line_of(hr.queue("new")) == [b"1", b"2"]
    assert hr.job("1") is not None
    assert len(hr.jobs(["1"])) == 1


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("SET other x", "has nothing of redis-queue"),
        ("LPUSH plain 1 2", "has nothing of redis-queue"),
        ("", "no keys at all"),
        ("SADD q:done 1\nSET q x", "WRONGTYPE"),
    ],
)
def test_what_is_no_queue_is_refused(hr: Client, old: Old, keys: str, words: str) -> None:
    old.lay(keys)

    with pytest.raises(ImportRefused, match=words):
        imported(hr, old, "redis-queue")


def test_a_queue_that_is_not_there_is_told(hr: Client, old: Old) -> None:
    old.lay(KEYS)

    with pytest.raises(ImportRefused, match="no queue 'mail'; there are: 'tasks'"):
        imported(hr, old, "redis-queue", None, "mail")


def test_a_prefix_is_no_part_of_a_name(hr: Client, old: Old) -> None:
    old.lay("LPUSH app:q 1|1417696237\nLPUSH q 2|1417696237")

    assert imported(hr, old, "redis-queue", "app:").counts == {("q", "running"): 1}
    assert line_of(hr.queue("q")) == [b"1"]
