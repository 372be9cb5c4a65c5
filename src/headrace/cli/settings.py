"""`configure`, `config`: the settings of a queue, and of the namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.opening import existing, opened
from headrace.cli.options import Namespace, Queue, Url, seconds
from headrace.cli.show import AsJson, as_line, table
from headrace.cli.words import span

if TYPE_CHECKING:
    from headrace.engine.settings import Value

Settings = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME=VALUE", help="Settings to change; none shows them all."),
]
FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def configure(
    queue: Queue,
    settings: Settings = None,
    *,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME", help="A named set: job, fifo, task, ..."),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Show the settings of a queue, or change some.

    A profile replaces all earlier settings. A span is 10, 5m, 2h or 7d, a flag yes or no; none
    lifts a limit.
    """
    given = _given(settings)
    with opened(url, namespace, make=bool(given or profile)) as client:
        if given or profile is not None:
            client.queue(queue).configure(profile, **given)
        found = existing(client, queue).settings()
    _show({"queue": queue}, found, as_json=as_json)


def config(
    settings: Settings = None,
    *,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="NAME", help="Let the default hold again."),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Show the settings of a namespace, or change some.

    They hold for queues that have none of their own.
    """
    given = _given(settings)
    with opened(url, namespace, make=bool(given)) as client:
        for name, value in given.items():
            client.config.set(name, value)
        for name in unset or ():
            client.config.unset(name)
        found: Mapping[str, Value] = client.config.get()
    _show({"namespace": namespace}, found, as_json=as_json)


def _given(settings: list[str] | None) -> dict[str, Value]:
    return dict(map(_setting, settings or ()))


def _setting(text: str) -> tuple[str, Value]:
    from headrace.engine.settings import known, to_wire  # noqa: PLC0415  msgspec takes long to load

    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint="NAME=VALUE")
    found = _value(name, value, known(name).kind)
    # All are looked at before the first is set.
    to_wire(name, found)
    return name, found


def _value(name: str, value: str, kind: str) -> Value:
    if value == "none":
        return None
    if kind == "span":
        return seconds(value)
    if kind == "flag" and value in FLAGS:
        return FLAGS[value]
    if kind == "flag":
        raise typer.BadParameter(f"{name} is yes or no, not {value!r}", param_hint="NAME=VALUE")
    if kind == "count" and value.isdecimal():
        return int(value)
    return value


def _show(of: Mapping[str, str], found: Mapping[str, Value], *, as_json: bool) -> None:
    from headrace.engine.settings import SETTINGS, default  # noqa: PLC0415

    if as_json:
        typer.echo(as_line({**of, "settings": found}))
        return
    table(
        ("setting", "value", "default", "what"),
        (
            (name, _words(value), _unless_same(value, default(name)), SETTINGS[name].about)
            for name, value in found.items()
        ),
    )


def _unless_same(value: Value, usual: Value) -> str:
    return "" if value == usual else _words(usual)


def _words(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return span(value) if isinstance(value, float) else str(value)
