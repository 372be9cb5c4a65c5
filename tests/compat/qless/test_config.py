"""The options of qless, with the names and units of its document."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.qless import Qless
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()
DAY = 86_400
DOCUMENTED = {
    "heartbeat": 60,
    "stats-history": 30,
    "histogram-history": 7,
    "jobs-history-count": 50_000,
    "jobs-history": 7,
}


def ended(qless: Any, name: str) -> None:
    """Return a complete job."""
    qless.queues["testing"].put(1, id=name)
    (qless.queues["testing"].pop()).complete()


@proves("Q-06", "Q-07", "Q-09")
@pytest.mark.parametrize("option", DOCUMENTED)
def test_option_is_set_read_and_unset(qless: Any, option: str) -> None:
    assert qless.get_config(option) == DOCUMENTED[option]

    qless.set_config(option, 3)
    assert qless.get_config(option) == 3
    assert qless.config.get(option) == 3

    qless.set_config(option)
    assert qless.get_config(option) == DOCUMENTED[option]


@proves("Q-07")
def test_unknown_option_reads_none_and_cannot_be_set(qless: Any, hr: Client) -> None:
    before = dump(hr)

    assert qless.get_config("hearbeat") is None
    assert qless.get_config("-heartbeat") is None
    with pytest.raises(
        InvalidArgument, match="unknown option 'hearbeat'; the options are: heartbeat, "
    ):
        qless.set_config("hearbeat", 5)
    with pytest.raises(InvalidArgument):
        qless.set_config("heartbeat", "often")
    with pytest.raises(InvalidArgument):
        qless.set_config("jobs-history-count", 1.5)

    assert dump(hr) == before


@proves("Q-08")
def test_get_config_without_a_name_returns_all_options(qless: Any) -> None:
    qless.config.set("heartbeat", 0.5)

    every = qless.get_config()

    later = {"max-job-history": 100, "max-worker-age": 86_400}
    assert every == {**DOCUMENTED, "heartbeat": 0.5, **later}
    assert every == qless.config.get()


@proves("Q-10")
def test_heartbeat_option_is_the_default_lock_time(qless: Any, queue: Any) -> None:
    queue.put(1)
    queue.put(2)
    assert queue.pop().expires == NOW + 60

    qless.set_config("heartbeat", 10)
    job = queue.pop()

    assert job.expires == NOW + 10
    assert job.heartbeat() == NOW + 10


@proves("Q-10")
def test_queue_may_have_its_own_heartbeat(qless: Any, queue: Any) -> None:
    qless.set_config("testing-heartbeat", 5)
    qless.set_config("heartbeat", 90)
    queue.put(1)
    assert queue.pop().expires == NOW + 5
    assert qless.get_config("testing-heartbeat") == 5

    qless.set_config("testing-heartbeat")
    assert qless.get_config("testing-heartbeat") == 90


@proves("Q-11", "Q-12", "Q-100", "QD-04")
def test_statistics_are_kept_for_the_configured_days(qless: Any, hr: Client, clock: Clock) -> None:
    qless.set_config("stats-history", 3)
    qless.set_config("histogram-history", 1)
    ended(qless, "j")

    totals = []
    for _ in range(5):
        found = (qless.stats("testing", "2026-01-01"))["run"]
        totals.append((found["total"], sum(found["histogram"])))
        clock.tick(DAY)
        hr.sweep()

    assert totals == [(1, 1), (1, 1), (1, 0), (1, 0), (0, 0)]
    assert hr.config.get("stats_age") == 3 * DAY


@proves("Q-14", "Q-15", "QD-04")
def test_complete_jobs_are_kept_for_the_configured_days(
    qless: Any, hr: Client, clock: Clock
) -> None:
    qless.set_config("jobs-history", 2)
    ended(qless, "old")
    clock.tick(2 * DAY - 0.001)
    ended(qless, "new")
    assert qless.get("old") is not None

    clock.tick(0.001)
    hr.sweep()

    assert qless.get("old") is None
    assert qless.get("new") is not None


@proves("Q-14", "QD-11")
def test_zero_is_a_valid_option_value(qless: Any) -> None:
    qless.set_config("jobs-history", 0)
    ended(qless, "j")

    assert qless.get_config("jobs-history") == 0
    assert qless.get("j") is None


@proves("Q-06")
def test_config_works_like_a_dict(hr: Client) -> None:
    config = Qless(hr).config

    config["heartbeat"] = 30
    assert (config["heartbeat"], hr.config.get("lease")) == (30, 30)
    del config["heartbeat"]
    assert config["heartbeat"] == 60


@proves("Q-04")
@pytest.mark.parametrize("option", [5, [], b"heartbeat"])
def test_option_name_must_be_a_str(qless: Any, option: Any) -> None:
    with pytest.raises(InvalidArgument, match="option must be a str"):
        qless.get_config(option)
    with pytest.raises(InvalidArgument, match="option must be a str"):
        qless.set_config(option, 5)


@proves("Q-07")
def test_config_item_returns_an_option(qless: Any) -> None:
    assert qless.config["heartbeat"] == 60
