"""worqr: lists of payloads, as the program and the document spell their keys."""

from __future__ import annotations

import hashlib

import pytest

from headrace import Client, ImportRefused, JobExists
from tests.compat.importing.old import Old, imported, line_of
from tests.proof import proves

WRITTEN = """
LPUSH worqr:queues:mail t1 t2 t3
LPUSH worqr:processes:mail_7d3c1a running
SADD worqr:workingProcesses:mail mail_7d3c1a
SADD worqr:workers w1
SADD worqr:expiringWorkers w1
SET worqr:workerTimers:w1 RUN EX 3
SADD worqr:workingQueues:w1 mail
"""
DRAWN = """
LPUSH Q1 T1 T2
LPUSH P1 T0
SADD W1_Q1 P1 P2
SADD Workers W1 W2
SET W1 RUN EX 3
SADD WorkMap_W1 Q1
SADD WorkMap_W2 Q1 Q2
SADD W2_Q1 P3
LPUSH P3 T9
LPUSH Q9 x
"""


@proves("W-10", "W-45", "W-03")
@pytest.mark.parametrize("prefix", [None, "other"])
def test_keys_as_the_program_writes_them(hr: Client, old: Old, prefix: str | None) -> None:
    old.lay(WRITTEN.replace("worqr", prefix or "worqr"))

    found = imported(hr, old, "worqr", prefix)

    assert found.counts == {("mail", "running"): 1, ("mail", "waiting"): 3}
    assert line_of(hr.queue("mail")) == [b"running", b"t1", b"t2", b"t3"]
    assert hr.queue("mail").settings()["session"] == "required"


@proves("WD-07", "W-13")
def test_keys_as_the_document_draws_them(hr: Client, old: Old) -> None:
    old.lay(DRAWN)

    found = imported(hr, old, "worqr")

    assert found.counts == {("Q1", "running"): 2, ("Q1", "waiting"): 2}
    assert line_of(hr.queue("Q1")) == [b"T0", b"T9", b"T1", b"T2"]
    assert found.plan.left_out == [
        "Q9: no worker serves this list; --queue says that it is a queue"
    ]
    assert line_of(hr.queue("Q2")) == []

    assert imported(hr, old, "worqr", None, "Q9").counts == {("Q9", "waiting"): 1}


@proves("W-06", "W-12", "W-16")
def test_payloads_stay_as_they_are_and_equal_ones_are_several(hr: Client, old: Old) -> None:
    old.say("LPUSH", "worqr:queues:q", b"same", b"", b"same", b"\x00\xff", b"same")

    imported(hr, old, "worqr")

    assert line_of(hr.queue("q")) == [b"same", b"", b"same", b"\x00\xff", b"same"]


@proves("WL-01")
def test_what_was_unique_is_unique_here(hr: Client, old: Old) -> None:
    digest = hashlib.md5(b'"one"', usedforsecurity=False).hexdigest()
    old.lay(
        f"LPUSH worqr:queues:q '\"one\"' '\"one\"' '\"two\"'\nSET worqr:uniqueTasks:{digest} ' '"
    )

    imported(hr, old, "worqr")

    queue = hr.queue("q")
    with pytest.raises(JobExists):
        queue.put("one", unique=True)
    queue.put("two", unique=True)
    assert [bool(job.unique) for job in queue.jobs("waiting").jobs] == [True, False, False, True]


def test_an_installation_without_tasks_has_none(hr: Client, old: Old) -> None:
    old.lay("SADD worqr:workers w1\nSADD worqr:workingQueues:w1 mail")

    assert imported(hr, old, "worqr").counts == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("SET other x", "has nothing of worqr"),
        ("LPUSH Q1 x", "has nothing of worqr"),
        ("SET worqr:queues:mail x", "WRONGTYPE"),
        ("LPUSH worqr:queues:a\0b x", "cannot be the name of a queue"),
    ],
)
def test_what_is_no_worqr_is_refused(hr: Client, old: Old, keys: str, words: str) -> None:
    old.lay(keys)

    with pytest.raises(ImportRefused, match=words):
        imported(hr, old, "worqr")
