"""configure: the settings of one queue."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.engine.settings import PROFILES, SETTINGS, default
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, ids

OWN = [name for name, setting in SETTINGS.items() if not setting.namespace_only]


@proves("Q-09")
def test_unconfigured_queue_has_the_defaults(hr: Client, queue: Queue) -> None:
    before = dump(hr)

    assert queue.settings() == {name: default(name) for name in OWN}

    assert dump(hr) == before


@proves("Q-06")
def test_queue_setting_overrides_the_namespace_and_that_the_default(
    hr: Client, queue: Queue
) -> None:
    hr.config.set("lease", 30)
    hr.config.set("retries", 1)
    queue.configure(lease=5)

    settings = queue.settings()

    assert (settings["lease"], settings["retries"], settings["keep_count"]) == (5, 1, 50_000)
    assert hr.queue("other").settings()["lease"] == 30


def test_configure_changes_only_the_given_setting(queue: Queue) -> None:
    queue.configure(lease=5, retries=2)
    queue.configure(retries=None)

    assert (queue.settings()["lease"], queue.settings()["retries"]) == (5, None)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_replaces_all_settings_but_the_pause(queue: Queue, profile: str) -> None:
    queue.configure(keep_age=1, event_data=7)
    queue.pause()

    queue.configure(profile)

    expected = {name: default(name) for name in OWN} | dict(PROFILES[profile]) | {"paused": True}
    assert queue.settings() == expected


def test_profile_can_be_combined_with_single_settings(queue: Queue) -> None:
    queue.configure("task", retries=3)

    assert (queue.settings()["session"], queue.settings()["retries"]) == ("required", 3)


def test_configuring_makes_the_queue(hr: Client, queue: Queue) -> None:
    queue.configure(lease=5)

    assert list(hr.queues()) == ["mail"]


@proves("QD-11")
def test_new_setting_applies_to_the_next_operation(hr: Client, queue: Queue) -> None:
    queue.put(1, id="before")
    queue.configure(retries=0)
    queue.put(1, id="after")

    assert (found(hr, "before").retries, found(hr, "after").retries) == (5, 0)


@proves("QL-19")
def test_pause_is_a_setting_that_every_client_sees(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    queue.pause()
    assert (queue.settings()["paused"], queue.counts().paused) == (True, True)
    assert hr.queue("mail").pop("w1") == []

    queue.resume()
    assert ids(queue.pop("w1")) == ["x"]


@proves("Q-04")
@pytest.mark.parametrize(
    "settings",
    [
        {"profile": "stack"},
        {"leese": 5},
        {"lease": -1},
        {"lease": 5, "retries": "many"},
        {"events_age": 5},
        {"on_exists": None},
    ],
    ids=repr,
)
def test_a_wrong_setting_is_refused_before_anything_changes(
    hr: Client, queue: Queue, settings: dict[str, Any]
) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        queue.configure(**settings)

    assert dump(hr) == before
