"""A check of long failures of one job: how much of them the job keeps."""

from __future__ import annotations

from headrace import Client
from tests.model.harness import opened
from tests.support.jobs import found, pop_one

LONG = "a" + "é" * 1000
SHORT = "a" + "é" * 511


def failures_are_shortened(url: str, swaps: dict[str, str]) -> None:
    """Raise unless a job keeps its newest failure in full and shortens the earlier ones."""
    try:
        _fail_again_and_again(url, swaps)
    except UnicodeDecodeError as cut:
        raise AssertionError("a character was cut in two") from cut


def _fail_again_and_again(url: str, swaps: dict[str, str]) -> None:
    hr, clock = opened(url, swaps)
    with hr:
        queue = hr.queue("mail")
        queue.put(1, id="x")
        for trace in ("first", "second", "third"):
            clock.tick(1)
            last = trace == "third"
            pop_one(queue).fail("io", LONG, traceback=trace, retry_in=None if last else 0)
        assert told(hr) == [(SHORT, ""), (SHORT, ""), (LONG, "third")]
        hr.retry("x")
        pop_one(queue).fail("io")
        assert told(hr) == [(SHORT, ""), (SHORT, ""), (SHORT, ""), ("", "")]


def told(hr: Client) -> list[tuple[str, str]]:
    """Return the failures of the job, oldest first."""
    job = found(hr, "x")
    assert job.failure is not None
    newest = job.history[-1]
    assert (job.failure.message, job.failure.traceback) == (newest.message, newest.traceback)
    return [(stage.message, stage.traceback) for stage in job.history]
