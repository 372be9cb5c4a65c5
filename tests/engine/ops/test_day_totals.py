"""day_totals: books and statistics of queues together with the number of the newest event."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.operations.daily_totals import QUEUES_A_CALL, DailyTotals, daily_totals
from headrace.testing import START, Clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one

TODAY = int(START.timestamp()) // 86_400


def tallied(hr: Client, *queues: str, day: int = -1) -> dict[str, DailyTotals]:
    found = drive(hr.core.transport, daily_totals(hr.core, queues, day))
    return {name: of_shard for name, [of_shard] in found.items()}


@proves("Q-91")
def test_books_and_statistics_match_the_newest_event(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, retries=1)
    clock.tick(3)
    pop_one(queue).fail("broken", retry_in=0)
    pop_one(queue).fail("broken")
    hr.queue("other").put(1)
    clock.tick(2)
    pop_one(hr.queue("other")).complete()

    found = tallied(hr, "mail", "other")

    mail, other = found["mail"], found["other"]
    assert (mail.number, mail.day) == (other.number, other.day) == (8, TODAY)
    assert mail.books == {"put": 1, "waiting": 0, "running": 0, "failed": 1}
    assert (mail.failures, mail.retries) == (1, 1)
    assert mail.wait == queue.stats().wait
    assert other.run == hr.queue("other").stats().run
    assert other.created_ms == int(START.timestamp() + 3) * 1000


def test_another_day_has_its_own_statistics(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1)
    pop_one(queue)
    clock.tick(86_400)

    assert tallied(hr, "mail")["mail"].wait.count == 0
    assert tallied(hr, "mail", day=TODAY)["mail"].wait.bins == {"s0": 1}


def test_unused_queue_has_no_counts_and_nothing_changes(hr: Client) -> None:
    before = dump(hr)

    nobody = tallied(hr, "nobody")["nobody"]

    assert (nobody.number, nobody.created_ms, nobody.books) == (0, None, {})
    assert dump(hr) == before


def test_totals_of_many_queues_are_read_in_several_calls(hr: Client) -> None:
    names = [f"q{number}" for number in range(QUEUES_A_CALL + 1)]

    assert list(tallied(hr, *names)) == names
