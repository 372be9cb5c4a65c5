"""The commands configure and config."""

from __future__ import annotations

from headrace import Client, Queue
from tests.cli.conftest import RunCommand


def test_configure_shows_and_changes_settings_of_a_queue(cli: RunCommand, mail: Queue) -> None:
    result = cli("configure", "mail", "lease=5m", "concurrency=3", "fair=yes", "rate=10/s")

    rows = {row[0]: row[1:4] for row in result.rows}
    assert rows["lease"] == ["5", "min", "60"]
    assert rows["concurrency"][:2] == ["3", "none"]
    assert rows["fair"][:2] == ["yes", "no"]
    assert rows["keep_age"][:2] == ["7", "days"]
    settings = cli("configure", "mail", "concurrency=none", "--json").json
    assert settings == {"queue": "mail", "settings": mail.settings()}
    assert (mail.settings()["lease"], mail.settings()["concurrency"]) == (300, None)
    cli("configure", "mail", "--profile", "fifo")
    assert (mail.settings()["removes"], mail.settings()["lease"]) == (True, None)


def test_config_shows_and_changes_settings_of_a_namespace(cli: RunCommand, client: Client) -> None:
    assert "retries" in cli("config").out
    cli("config", "retries=7", "events_age=2d")
    assert (client.config.get("retries"), client.config.get("events_age")) == (7, 172_800)
    output = cli("config", "--unset", "retries", "--json").json
    assert output["settings"] == client.config.get()
    assert client.config.get("retries") == 5
