"""An import as a whole: a source that changes, repeated imports, and the check at the end."""

from __future__ import annotations

import pytest

from headrace import Client, ImportRefused
from headrace.compat.importing.import_steps import check_import, import_entries, make_plan
from headrace.testing import START, Clock, open_with_clock
from tests.compat.importing.support.installation import (
    LATER_QLESS,
    Installation,
    ignore,
    run_import,
    waiting,
)
from tests.support.jobs import pop_one

KEYS = "LPUSH worqr:queues:q a b c\nSADD worqr:workers w\nLPUSH worqr:queues:r x"
RECURRING = 'HSET ql:r:each interval 60 data 1 tags ["x"] retries 3\nZADD ql:q:q-recur {due} each'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("LPUSH worqr:queues:q d", "'q' had 3 waiting, then 4"),
        ("RPOP worqr:queues:q", "'q' had 3 waiting, then 2"),
        ("DEL worqr:queues:r", "'r' had 1 waiting, then 0"),
        (
            "LPUSH worqr:queues:q d\nDEL worqr:queues:r",
            r"'q' had 3 waiting, then 4 \(other changes: 1\); stop the",
        ),
    ],
)
def test_source_that_changes_during_the_import_is_reported(
    hr: Client, old: Installation, change: str, message: str
) -> None:
    old.write(KEYS)
    source = old.source("worqr")
    plan = make_plan(source, ignore)
    old.write(change)

    with pytest.raises(ImportRefused, match=message):
        import_entries(hr, source, plan, ignore)

    assert run_import(hr, old, "worqr").check.changed == 0


def test_source_that_changes_before_the_check_is_reported(hr: Client, old: Installation) -> None:
    old.write(KEYS)
    source = old.source("worqr")
    plan = make_plan(source, ignore)
    import_entries(hr, source, plan, ignore)
    old.write("LPUSH worqr:queues:q d")

    with pytest.raises(ImportRefused, match="'q' had 3 waiting, then 4"):
        check_import(hr, source, plan, ignore)


def test_job_that_was_finished_here_is_not_imported_again(hr: Client, old: Installation) -> None:
    old.write("LPUSH q 1|1417696237 2|1417696238")
    run_import(hr, old, "redis-queue")
    pop_one(hr.queue("q"))
    hr.finish("1")
    pop_one(hr.queue("q"))

    again = run_import(hr, old, "redis-queue")

    assert (again.result.imported, again.result.imported_before) == (0, 2)
    assert (again.check.changed, hr.job("1")) == (2, None)


def test_check_reports_a_job_in_another_position(hr: Client, old: Installation) -> None:
    old.write(KEYS)
    run_import(hr, old, "worqr")
    first = hr.queue("q").jobs("waiting").jobs[0].id
    hr.requeue(first, "q")
    source = old.source("worqr")

    check = check_import(hr, source, make_plan(source, ignore), ignore)

    assert waiting(hr.queue("q")) == [b"b", b"c", b"a"]
    assert len(check.problems) == 2
    assert all("of 'q' has another position than at the source" in each for each in check.problems)
    assert check.counts == {("q", "waiting"): 1, ("r", "waiting"): 1}


def test_check_reports_and_imports_missing_jobs(hr: Client, old: Installation) -> None:
    old.write(KEYS)
    source = old.source("worqr")
    plan = make_plan(source, ignore)
    hr.queue("q").configure("task")

    check = check_import(hr, source, plan, ignore)

    assert len(check.problems) == 4
    assert check.problems[0].endswith("of 'q' was missing; the check imported the entry")
    assert check_import(hr, source, plan, ignore).problems == []
    assert waiting(hr.queue("q")) == [b"a", b"b", b"c"]


def test_schedule_that_was_ended_here_is_not_imported_again(
    hr: Client, clock: Clock, old: Installation
) -> None:
    old.write(RECURRING.format(due=int(START.timestamp()) + 30))
    assert run_import(hr, old, "qless").result.imported == 1
    assert run_import(hr, old, "qless").result.imported_before == 1
    clock.tick(200)
    hr.sweep()
    assert run_import(hr, old, "qless").check.changed == 0
    hr.schedules.delete("each")

    again = run_import(hr, old, "qless")

    assert (again.result.imported, again.check.changed) == (0, 1)
    assert hr.schedules.get("each") is None


def test_schedule_with_a_taken_id_stays_and_is_reported(hr: Client, old: Installation) -> None:
    old.write(RECURRING.format(due=1))
    hr.queue("mine").schedule("each", 7, every=60)
    source = old.source("qless")
    plan = make_plan(source, ignore)

    assert import_entries(hr, source, plan, ignore).imported == 0
    check = check_import(hr, source, plan, ignore)

    assert check.problems == [
        "schedule 'each' of 'q' has another queue or other data in the namespace"
    ]
    assert hr.schedules.get("each").queue == "mine"  # type: ignore[union-attr]


def test_several_shards_take_everything_but_dependencies(url: str, old: Installation) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        old.write("LPUSH q " + " ".join(f"{number}|14176962{number:02}" for number in range(30)))
        assert run_import(hr, old, "redis-queue").result.imported == 30
        assert hr.queue("q").counts().waiting == 30

        old.write(LATER_QLESS + "HSET ql:config heartbeat 90")
        with pytest.raises(ImportRefused, match="import into a namespace that has one shard"):
            run_import(hr, old, "qless")
        assert (hr.job("a"), hr.config.get("lease")) == (None, 60)
