"""The configuration: the names and units of the document."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.qless import Qless
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
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


async def ended(qless: Any, name: str) -> None:
    """A job that is complete."""
    await got(qless.queues["testing"].put(1, id=name))
    await got((await got(qless.queues["testing"].pop())).complete())


@proves("Q-06", "Q-07", "Q-09")
@pytest.mark.parametrize("option", DOCUMENTED)
async def test_an_option_is_set_read_and_without_a_value_removed(qless: Any, option: str) -> None:
    assert await got(qless.get_config(option)) == DOCUMENTED[option]

    await got(qless.set_config(option, 3))
    assert await got(qless.get_config(option)) == 3
    assert await got(qless.config.get(option)) == 3

    await got(qless.set_config(option))
    assert await got(qless.get_config(option)) == DOCUMENTED[option]


@proves("Q-07")
async def test_an_option_that_nobody_knows_is_nothing_and_cannot_be_set(
    qless: Any, hr: Client
) -> None:
    before = dump(hr)

    assert await got(qless.get_config("hearbeat")) is None
    assert await got(qless.get_config("-heartbeat")) is None
    with pytest.raises(InvalidArgument, match="no option 'hearbeat'; there are: heartbeat, "):
        await got(qless.set_config("hearbeat", 5))
    with pytest.raises(InvalidArgument):
        await got(qless.set_config("heartbeat", "often"))
    with pytest.raises(InvalidArgument):
        await got(qless.set_config("jobs-history-count", 1.5))

    assert dump(hr) == before


@proves("Q-08")
async def test_without_an_option_all_are_read_with_their_defaults(qless: Any) -> None:
    await got(qless.config.set("heartbeat", 0.5))

    every = await got(qless.get_config())

    assert every == {**DOCUMENTED, "heartbeat": 0.5, "max-job-history": 100}
    assert every == await got(qless.config.get())


@proves("Q-10")
async def test_the_heartbeat_is_how_long_a_job_is_locked_where_nothing_else_is_said(
    qless: Any, queue: Any
) -> None:
    await got(queue.put(1))
    await got(queue.put(2))
    assert (await got(queue.pop())).expires == NOW + 60

    await got(qless.set_config("heartbeat", 10))
    job = await got(queue.pop())

    assert job.expires == NOW + 10
    assert await got(job.heartbeat()) == NOW + 10


@proves("Q-10")
async def test_a_queue_may_have_a_heartbeat_of_its_own(qless: Any, queue: Any) -> None:
    await got(qless.set_config("testing-heartbeat", 5))
    await got(qless.set_config("heartbeat", 90))
    await got(queue.put(1))
    assert (await got(queue.pop())).expires == NOW + 5
    assert await got(qless.get_config("testing-heartbeat")) == 5

    await got(qless.set_config("testing-heartbeat"))
    assert await got(qless.get_config("testing-heartbeat")) == 90


@proves("Q-11", "Q-12", "Q-100", "QD-04")
async def test_days_of_statistics_are_kept_as_many_days_as_the_options_say(
    qless: Any, hr: Client, clock: Clock
) -> None:
    await got(qless.set_config("stats-history", 3))
    await got(qless.set_config("histogram-history", 1))
    await ended(qless, "j")

    totals = []
    for _ in range(5):
        found = (await got(qless.stats("testing", "2026-01-01")))["run"]
        totals.append((found["total"], sum(found["histogram"])))
        clock.tick(DAY)
        hr.sweep()

    assert totals == [(1, 1), (1, 1), (1, 0), (1, 0), (0, 0)]
    assert hr.config.get("stats_age") == 3 * DAY


@proves("Q-14", "Q-15", "QD-04")
async def test_complete_jobs_are_kept_as_many_days_as_the_option_says(
    qless: Any, hr: Client, clock: Clock
) -> None:
    await got(qless.set_config("jobs-history", 2))
    await ended(qless, "old")
    clock.tick(2 * DAY - 0.001)
    await ended(qless, "new")
    assert await got(qless.get("old")) is not None

    clock.tick(0.001)
    hr.sweep()

    assert await got(qless.get("old")) is None
    assert await got(qless.get("new")) is not None


@proves("Q-14", "QD-11")
async def test_zero_is_a_value_and_not_the_lack_of_one(qless: Any) -> None:
    await got(qless.set_config("jobs-history", 0))
    await ended(qless, "j")

    assert await got(qless.get_config("jobs-history")) == 0
    assert await got(qless.get("j")) is None


@proves("Q-06")
def test_the_configuration_can_be_used_like_a_dictionary(hr: Client) -> None:
    config = Qless(hr).config

    config["heartbeat"] = 30
    assert (config["heartbeat"], hr.config.get("lease")) == (30, 30)
    del config["heartbeat"]
    assert config["heartbeat"] == 60


@proves("Q-04")
@pytest.mark.parametrize("option", [5, [], b"heartbeat"])
async def test_an_option_that_is_no_text_is_refused(qless: Any, option: Any) -> None:
    with pytest.raises(InvalidArgument, match="option must be a str"):
        await got(qless.get_config(option))
    with pytest.raises(InvalidArgument, match="option must be a str"):
        await got(qless.set_config(option, 5))


@proves("Q-07")
async def test_an_option_is_read_by_its_name_in_both_colours(qless: Any) -> None:
    assert await got(qless.config["heartbeat"]) == 60
