"""Fixed sequences of steps that the planted faults must not survive."""

from __future__ import annotations

from tests.model.harness import Swaps
from tests.model.outages.twin import OutageTwin, Step

TTL = 3000
PASS_SECOND: tuple[Step, ...] = (("tick", 1000), ("renew", "peer"))


def run(url: str, swaps: Swaps, *steps: Step) -> None:
    with OutageTwin(url, swaps) as twin:
        twin.run(("start", "peer", TTL), ("start", "w", TTL), *steps)


def worker_returns_after_a_restart(url: str, swaps: Swaps) -> None:
    run(url, swaps, ("tick", 2500), ("restart",), ("renew", "peer"), ("tick", 600), ("sweep",))
    run(url, swaps, ("tick", 5000), ("restart",), ("sweep",), ("tick", 14_999), ("renew", "w"))
    run(url, swaps, ("tick", 5000), ("restart",), ("put",), ("tick", 14_999), ("renew", "w"))


def worker_returns_after_a_silence(url: str, swaps: Swaps) -> None:
    run(url, swaps, ("tick", 5000), ("put",), ("sweep",), ("tick", 14_999), ("renew", "w"))
    run(url, swaps, ("tick", 1801), ("put",), ("tick", 1300), ("put",), ("sweep",), ("renew", "w"))
    run(url, swaps, ("tick", 1800), ("put",), ("tick", 1300), ("put",), ("sweep",), ("renew", "w"))


def worker_that_does_not_return_loses_its_job_after_the_grace(url: str, swaps: Swaps) -> None:
    for outage in ((), (("restart",),)):
        steps: tuple[Step, ...] = (("tick", 5000), *outage, ("sweep",), *PASS_SECOND * 14)
        run(url, swaps, *steps, ("sweep",), ("tick", 999), ("sweep",), ("tick", 1), ("sweep",))
        run(url, swaps, *steps, *PASS_SECOND, ("renew", "w"), ("sweep",))


def worker_that_dies_without_an_outage_loses_its_job_at_once(url: str, swaps: Swaps) -> None:
    run(url, swaps, *PASS_SECOND * 3, ("sweep",), ("renew", "w"))
    run(url, swaps, ("tick", 5000), ("restart",), ("renew", "w"), *PASS_SECOND * 3, ("sweep",))
    run(url, swaps, ("tick", 5000), ("put",), ("renew", "w"), *PASS_SECOND * 3, ("sweep",))
    run(
        url, swaps, *(("tick", 240), ("put",), ("tick", 1700), ("put",), ("tick", 1100), ("sweep",))
    )


def newest_outage_begins_the_grace(url: str, swaps: Swaps) -> None:
    run(url, swaps, ("tick", 1000), ("restart",), ("put",), ("tick", 3000), ("put",), ("sweep",))


def silences_extend_a_session_only_once(url: str, swaps: Swaps) -> None:
    run(url, swaps, *(("tick", 5000), ("sweep",)) * 6)
    run(url, swaps, *PASS_SECOND * 4, ("tick", 9000), ("sweep",), ("sweep",))
    run(url, swaps, *(("tick", 10_000), ("restart",), ("sweep",)) * 4)


def newest_silences_are_remembered(url: str, swaps: Swaps) -> None:
    for times in (15, 16):
        run(url, swaps, ("tick", 1900), ("put",), *(("tick", 250), ("put",)) * times, ("sweep",))
    run(url, swaps, ("tick", 1900), ("put",), *(("tick", 249), ("put",)) * 16, ("sweep",))


WALKS = [
    worker_returns_after_a_restart,
    worker_returns_after_a_silence,
    worker_that_does_not_return_loses_its_job_after_the_grace,
    worker_that_dies_without_an_outage_loses_its_job_at_once,
    newest_outage_begins_the_grace,
    silences_extend_a_session_only_once,
    newest_silences_are_remembered,
]
