"""Bulk operations on failed jobs, while some of the jobs change."""

from __future__ import annotations

from headrace import Bulk, Client, WrongState
from headrace.engine.call import build, pack
from headrace.testing import Clock
from tests.model.harness import opened


def bulk_changes_only_matching_jobs(url: str, swaps: dict[str, str]) -> None:
    """Raise if other jobs are retried or cancelled than the filters select."""
    hr, clock = opened(url, swaps)
    with hr:
        _fail(hr, clock)
        assert hr.failures.retry("io", queue="mail", dry_run=True) == Bulk(2)
        assert hr.failures.retry("io", tag="vip", dry_run=True) == Bulk(2)
        assert hr.failures.retry(queue="post", tag="vip", dry_run=True) == Bulk(1)
        assert hr.failures.cancel(queue="mail", until=clock.now, dry_run=True) == Bulk(2)
        _expects_what_failed(hr, clock)
        assert hr.failures.cancel("io") == Bulk(3, 2, 1)
        _expects_a_state(hr)
        _retries_only_what_failed(hr)


def _fail(hr: Client, clock: Clock) -> None:
    for name, queue, tags in (
        ("a", "mail", ["vip"]),
        ("b", "mail", ["other"]),
        ("c", "post", ["vip"]),
    ):
        hr.queue(queue).put(0, id=name, tags=tags)
        hr.fail(name, "io")
    hr.queue("mail").put(0, id="d", depends_on=["a"])
    clock.tick(1)
    hr.queue("mail").put(0, id="e")
    hr.fail("e", "bug")


def _expects_what_failed(hr: Client, clock: Clock) -> None:
    """Assert that a job which failed again since it was read is not retried and not cancelled."""
    then = round(clock.now.timestamp() * 1000) - 1
    retry = build("retry", list, [("e",)], delay=0, expected=pack([(then, 0)]))
    cancel = build("cancel", list, [("e",)], cascade=0, expected=pack([then]))
    for call in (retry, cancel):
        assert hr.core.transport.send([(0, hr.core.words(0, call))]) == [[b"WRONG_STATE failed"]]


def _expects_a_state(hr: Client) -> None:
    """Assert that a job in another state stays, and so do its dependencies."""
    for name, parents in (("x", []), ("y", ["x"]), ("z", ["y"])):
        hr.queue("post").put(0, id=name, depends_on=parents)
    rows = [("x",), ("y",), ("e",)]
    cancel = build("cancel", list, rows, cascade=0, expected=pack(["", "blocked", "waiting"]))
    [answers] = hr.core.transport.send([(0, hr.core.words(0, cancel))])
    assert answers == [b"HAS_DEPENDENTS", b"HAS_DEPENDENTS", b"WRONG_STATE failed"]


def _retries_only_what_failed(hr: Client) -> None:
    """Assert that a job which is no longer failed is not moved to another queue."""
    failed, waiting = hr.retry("e", "x", queue="elsewhere")
    assert (failed, str(waiting)) == ("waiting", str(WrongState("x", "waiting")))
    assert hr.queue("elsewhere").length() == 1
