"""config_get and config_set: defaults for queues without their own value of a setting."""

from __future__ import annotations

import json
import os
import socket
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.engine import keys
from headrace.engine.settings import SETTINGS, default
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found

DAY = 86_400.0


@proves("Q-06", "Q-07")
def test_a_setting_is_set_and_read(hr: Client) -> None:
    hr.config.set("lease", 90)

    assert hr.config.get("lease") == 90
    assert hr.config.get("keep_count") == 50_000


@proves("Q-06", "Q-09")
def test_a_setting_that_is_unset_has_its_default_again(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.config.set("lease", 90)
    hr.config.unset("lease")
    assert hr.config.get("lease") == 60
    assert hr.core.key(0, keys.CONFIG) not in dump(hr)

    queue.put(1, id="x")
    queue.pop("w1")
    assert found(hr, "x").expires == clock.now + timedelta(seconds=60)


@proves("Q-06")
def test_a_setting_that_was_never_set_may_be_unset(hr: Client) -> None:
    hr.config.unset("lease")

    assert hr.config.get("lease") == 60


@proves("Q-08")
def test_all_settings_are_read_at_once_with_their_defaults(hr: Client) -> None:
    hr.config.set("retries", 2)

    every = hr.config.get()

    assert list(every) == [name for name, one in SETTINGS.items() if not one.queue_only]
    assert every == {name: default(name) for name in every} | {"retries": 2}


@proves("Q-10", "Q-11", "Q-12", "Q-13", "Q-14", "QL-03")
def test_the_defaults(hr: Client) -> None:
    assert hr.config.get("lease") == 60
    assert hr.config.get("stats_age") == 30 * DAY
    assert hr.config.get("histogram_age") == 7 * DAY
    assert hr.config.get("keep_count") == 50_000
    assert hr.config.get("keep_age") == 7 * DAY
    assert hr.config.get("retries") == 5


VALUES: list[tuple[str, Any, Any]] = [
    ("lease", 0, 0.0),
    ("lease", 1.5, 1.5),
    ("lease", timedelta(minutes=2), 120.0),
    ("lease", None, None),
    ("retries", 0, 0),
    ("retries", None, None),
    ("keep_count", 0, 0),
    ("keep_age", 0, 0.0),
    ("stats", False, False),
    ("stats", True, True),
    ("returns", "back", "back"),
    ("events_count", 0, 0),
]


@proves("QD-11", "Q-06")
@pytest.mark.parametrize(("name", "value", "read"), VALUES)
def test_zero_false_and_none_are_values_of_a_setting(
    hr: Client, name: str, value: Any, read: Any
) -> None:
    hr.config.set(name, value)

    found_value = hr.config.get(name)
    assert (found_value, type(found_value)) == (read, type(read))
    assert hr.config.get()[name] == read


@proves("QD-04")
def test_spans_are_read_in_seconds_and_set_in_seconds_or_as_timedeltas(hr: Client) -> None:
    hr.config.set("keep_age", timedelta(days=2))
    assert hr.config.get("keep_age") == 2 * DAY

    hr.config.set("keep_age", hr.config.get("keep_age"))
    assert hr.config.get("keep_age") == 2 * DAY


@proves("Q-07", "Q-04")
@pytest.mark.parametrize("name", ["heartbeat", "", "created", None, 5])
def test_an_unknown_setting_is_an_error_that_lists_the_known_ones(hr: Client, name: Any) -> None:
    before = dump(hr)

    for attempt in (
        lambda: hr.config.get(name if name is not None else "none"),
        lambda: hr.config.set(name, 1),
        lambda: hr.config.unset(name),
    ):
        with pytest.raises(InvalidArgument, match="the settings are lease, "):
            attempt()

    assert dump(hr) == before


@proves("Q-04", "QD-04")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease", -1),
        ("lease", "60"),
        ("lease", True),
        ("lease", float("nan")),
        ("keep_count", -1),
        ("keep_count", 1.5),
        ("keep_count", None),
        ("keep_count", True),
        ("keep_age", None),
        ("stats", 1),
        ("stats", "yes"),
        ("returns", "middle"),
        ("session", None),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(hr: Client, name: str, value: Any) -> None:
    hr.config.set("lease", 30)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match=name):
        hr.config.set(name, value)

    assert dump(hr) == before


@proves("Q-10")
def test_the_namespace_decides_for_queues_that_do_not(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.config.set("lease", 30)
    own = hr.queue("own")
    own.configure(lease=5)

    for each in (queue, own):
        each.put(1, id=each.name)
        each.pop("w1")

    assert found(hr, "mail").expires == clock.now + timedelta(seconds=30)
    assert found(hr, "own").expires == clock.now + timedelta(seconds=5)


@proves("QL-14")
def test_changed_settings_are_events_with_their_actor(url: str) -> None:
    client, _ = open_with_clock(url, shards=2, actor="ada")
    with client:
        client.config.set("lease", 90)
        client.config.set("lease", 90)
        client.config.unset("lease")
        mail = client.queue("mail")
        mail.configure(retries=3, concurrency=None)
        mail.configure(retries=3)
        mail.pause()
        mail.configure("fifo")

        for shard in range(2):
            found = [event for event in client.events() if event.shard == shard]
            assert {(event.kind, event.actor, event.job_id) for event in found} == {
                ("configured", "ada", "")
            }
            settings = [(event.queue, json.loads(event.settings or "")) for event in found]
            assert settings[:4] == [
                ("", {"lease": "90000"}),
                ("", {"lease": None}),
                ("mail", settings[2][1]),
                ("mail", {"paused": "1"}),
            ]
            assert settings[2][1]["retries"] == "3"
            assert settings[4][0] == "mail"
            assert settings[4][1]["removes"] == "1"
            assert settings[4][1]["retries"] == "none"
            assert "paused" not in settings[4][1]
            assert [event.number for event in found] == [1, 2, 3, 4, 5]


def test_actor_is_host_and_process_by_default_and_must_be_a_name(url: str, hr: Client) -> None:
    hr.config.set("lease", 90)

    [event] = hr.events()

    assert event.actor == f"{socket.gethostname()}-{os.getpid()}"
    for bad in ("", "x" * 251):
        with pytest.raises(InvalidArgument):
            open_with_clock(url, actor=bad)
