"""A check that the statistics follow from the events of the log alone."""

from __future__ import annotations

from headrace import Client
from headrace.operations.daily_totals import daily_totals
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.model.harness import opened
from tests.support.dump import dump
from tests.support.jobs import pop_one

COSTLY = ("lease expired", "session ended")
# Longer than stats_age and histogram_age, even if these ages are counted from the end of a day.
DAYS_KEPT = 31


def statistics_follow_from_events(url: str, swaps: dict[str, str] | None = None) -> None:
    """Raise if the counts differ from the events, or are not deleted in time."""
    client, clock = opened(url, swaps)
    with client as hr:
        _happen(hr, clock)
        log = [event for event in hr.events() if event.queue == "mail"]
        [found] = drive(hr.core.transport, daily_totals(hr.core, ["mail"]))["mail"]
        costly = [event for event in log if event.reason in COSTLY or event.kind == "retried"]
        runs = [event for event in log if event.kind == "completed" and event.run is not None]
        assert found.number == max(event.number for event in hr.events())
        assert found.day == hr.queue("mail").stats().day.toordinal() - 719_163
        assert (found.retries, len(costly)) == (3, 3)
        assert (found.run.count, len(runs)) == (1, 1)
        assert found.wait.count == len([event for event in log if event.kind == "popped"])
        assert log[-1].tags == '["vip"]'
        assert _kept(hr) == {"stats", "histogram"}
        clock.tick(DAYS_KEPT * 86_400)
        hr.sweep()
        assert _kept(hr) == set()


def _kept(hr: Client) -> set[str]:
    roles = {name.removeprefix(hr.core.key(0, "")).partition(":")[0] for name in dump(hr)}
    return roles & {"stats", "histogram"}


def _happen(hr: Client, clock: Clock) -> None:
    mail = hr.queue("mail")
    clock.tick(3 * 86_400)
    mail.put("x", id="a", retries=3, tags=["vip"])
    session = hr.session("closing", ttl=10)
    pop_one(mail, "closing")
    session.end()
    hr.session("dying", ttl=1)
    pop_one(mail, "dying")
    clock.tick(2)
    pop_one(mail, "late", lease=1)
    clock.tick(2)
    pop_one(mail, "w").fail("broken", retry_in=0)
    pop_one(mail, "w").complete()
    mail.configure("fifo", stats=True)
    mail.put("y")
    mail.pop("w")
    hr.requeue("a")
