"""`configure` and `config`: show and change the settings of a queue and of a namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client
from headrace.cli.output import print_json, span, table
from headrace.engine.settings import SETTINGS, Value, default, known, to_wire

settings_argument = click.argument(
    "settings",
    metavar="[NAME=VALUE]...",
    nargs=-1,
    help="Settings to change; without this argument, the command shows all settings.",
)


@options.command("configure mail concurrency=10 lease=5m")
@options.queue
@settings_argument
@click.option(
    "--profile", metavar="NAME", help="Apply a predefined set of settings: job, fifo, task, ..."
)
def configure(
    queue: str, settings: Sequence[str], profile: str | None, server: ServerOptions
) -> None:
    """Show or change the settings of a queue.

    A profile replaces all earlier settings of the queue. Write durations as 10, 5m, 2h or 7d, and
    flags as yes or no. The value none removes a limit.
    """
    changes = dict(map(_setting, settings))
    with open_client(server, create=bool(changes or profile)) as client:
        if changes or profile is not None:
            client.queue(queue).configure(profile, **changes)
        found = existing_queue(client, queue).settings()
    _show({"queue": queue}, found)


@options.command("config retries=3")
@settings_argument
@click.option("--unset", metavar="NAME", multiple=True, help="Restore the default of a setting.")
def config(settings: Sequence[str], unset: Sequence[str], server: ServerOptions) -> None:
    """Show or change the settings of a namespace.

    A setting applies to every queue that does not override the setting.
    """
    changes = dict(map(_setting, settings))
    with open_client(server, create=bool(changes)) as client:
        for name, value in changes.items():
            client.config.set(name, value)
        for name in unset:
            client.config.unset(name)
        found: Mapping[str, Value] = client.config.get()
    _show({"namespace": server.namespace}, found)


def _setting(text: str) -> tuple[str, Value]:
    """Parse and check NAME=VALUE, so that an invalid setting is rejected before any change."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint="NAME=VALUE")
    found = _value(value, known(name).kind)
    to_wire(name, found)
    return name, found


def _value(value: str, kind: str) -> Value:
    if value == "none":
        return None
    if kind == "span":
        return options.seconds(value)
    if kind == "flag":
        return bool(click.BOOL.convert(value, None, None))
    if kind == "count" and value.isdecimal():
        return int(value)
    return value


def _show(of: Mapping[str, str], found: Mapping[str, Value]) -> None:
    if print_json({**of, "settings": found}):
        return
    table(
        ("setting", "value", "default", "meaning"),
        (
            (
                name,
                _words(value),
                "" if value == default(name) else _words(default(name)),
                SETTINGS[name].about,
            )
            for name, value in found.items()
        ),
    )


def _words(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return span(value) if isinstance(value, float) else str(value)
