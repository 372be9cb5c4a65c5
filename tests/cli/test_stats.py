"""The command stats."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from headrace import Client, Queue
from headrace.engine.statistics import BINS, bin_bounds, quantile
from tests.cli.conftest import RunCommand, fail


def write(client: Client, day: str, **facts: dict[str, object]) -> None:
    """Store statistics of a day directly, as the server would."""
    core = client.core
    for role, fields in facts.items():
        pairs = [str(word) for pair in fields.items() for word in pair]
        [reply] = core.transport.send([(0, ("HSET", core.key(0, f"{role}:{day}:mail"), *pairs))])
        assert isinstance(reply, int), reply


def test_stats_of_today_count_pops_failures_and_retries(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([1, 2, 3])
    fail(mail, "smtp", "busy")
    mail.pop("ann")[0].complete()

    result = cli("stats", "mail")

    assert (result.code, result.err) == (0, "")
    assert re.search(r"^failures +1$", result.out, re.MULTILINE)
    assert "waiting time of 2 jobs" in result.out
    assert "running time of 1 job\n" in result.out
    assert re.search(r" 0 s - 1 s +2  █{40}$", result.out, re.MULTILINE)
    assert "50% within 1 s, 90% within 1 s, 99% within 1 s" in result.out
    found = cli("stats", "mail", "--json").json
    assert (found["wait"]["count"], found["run"]["count"]) == (2, 1)
    assert (found["failures"], found["failed"], found["retries"]) == (1, 1, 0)
    assert found["wait"]["bins"] == {"s0": 2}
    assert found["wait"]["quantiles"] == {"0.5": [0, 1], "0.9": [0, 1], "0.99": [0, 1]}
    assert found["wait"]["mean"] == mail.stats().wait.mean


def test_the_histogram_is_drawn_from_the_first_to_the_last_bar(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.pause()
    day = mail.stats().day
    number = (day - type(day)(1970, 1, 1)).days
    write(
        client,
        str(number),
        stats={"wait:count": 8, "wait:mean": 4000, "wait:vk": 7e6},
        histogram={"wait:s1": 5, "wait:s7": 1, "wait:q4": 1, "wait:d40": 1},
    )

    result = cli("stats", "mail", day.isoformat())

    bars = re.findall(r"^ +(\d+ \w+ - .*?) +(\d+)(?:  (█+))?$", result.out, re.MULTILINE)
    assert [bar[:2] for bar in bars[:4]] == [
        ("1 s - 2 s", "5"), ("2 s - 5 s", "0"), ("5 s - 10 s", "1"), ("10 s - 20 s", "0"),
    ]  # fmt: skip
    assert len(bars[0][2]) == 40
    assert len(bars[2][2]) == 8
    assert "1 h - 2 h          1" in result.out
    assert "30 d -          1" in result.out
    assert "mean 4 s, standard deviation 1 s" in result.out
    assert "50% within 2 s" in result.out


def test_day_without_jobs_and_day_with_an_expired_histogram(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.pause()
    assert "no jobs on this day" in cli("stats", "mail", "2020-01-01").out
    assert cli("stats", "mail", "2020-01-01", "--json").json["wait"]["quantiles"]["0.5"] is None
    day = mail.stats().day
    number = (day - type(day)(1970, 1, 1)).days
    write(client, str(number), stats={"run:count": 2, "run:mean": 1500})

    assert "the histogram has expired" in cli("stats", "mail").out


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", ""])
def test_invalid_day_exits_with_2(cli: RunCommand, mail: Queue, day: str) -> None:
    mail.pause()

    assert (cli("stats", "mail", day).code, cli("stats", "mail", day).out) == (2, "")


def test_bins_are_contiguous() -> None:
    assert bin_bounds(BINS[0]) == (0, 1)
    for before, after in pairwise(BINS):
        assert bin_bounds(before)[1] == bin_bounds(after)[0], (before, after)


@pytest.mark.parametrize(
    ("share", "bounds"), [(0.1, (0, 1)), (0.5, (0, 1)), (0.51, (5, 6)), (1, (60, 120))]
)
def test_quantile_is_the_bin_that_reaches_the_share(share: float, bounds: tuple[int, int]) -> None:
    assert quantile({"m1": 1, "s0": 5, "s5": 4}, share) == bounds
