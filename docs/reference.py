"""The public names, as docs/reference.md lists them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

import headrace
from docs import sentences
from headrace import errors, testing
from headrace.client.groups import Config
from headrace.testing import plugin

FACES: list[tuple[type, type, str]] = [
    (headrace.Client, headrace.AsyncClient, "Made by `headrace.connect(...)`."),
    (Config, Config, "Reached as `client.config`."),
    (headrace.Queue, headrace.AsyncQueue, "Made by `client.queue(name)`."),
    (headrace.Group, headrace.AsyncGroup, "Made by `client.group(name)`."),
    (headrace.Lease, headrace.AsyncLease, "Returned by `queue.pop(...)`."),
    (
        headrace.Feed,
        headrace.AsyncFeed,
        "Made by `client.feed(name)` or `client.feeds.create(name)`.",
    ),
    (
        headrace.Listener,
        headrace.AsyncListener,
        "Made by `feed.listen()` or `client.feeds.listen()`; an iterator, and a `with` closes it.",
    ),
    (
        headrace.Session,
        headrace.AsyncSession,
        "Made by `client.session(worker)`; a `with` ends it.",
    ),
    (headrace.Watch, headrace.AsyncWatch, "Made by `client.watch(worker)`; a `with` ends it."),
]
ATTRIBUTES = {
    "Client": {"config": "The settings of the namespace, a `Config`."},
    "Queue": {"name": "Its name."},
    "Feed": {"name": "Its name.", "sorted": "Whether it is sorted."},
    "Group": {"name": "Its name."},
    "Lease": {
        "id": "The id of the job.",
        "payload": "The user's data as bytes.",
        "token": "What shows the server that the job is yours.",
        "taken": "`cancelled` or `lost` once a watch has heard that it was taken, else None.",
    },
    "Watch": {"worker": "The name of the worker."},
    "Session": {"worker": "The name of the worker.", "token": "What shows that it is yours."},
}
VALUES = (
    headrace.Put,
    headrace.Limits,
    headrace.Fail,
    headrace.Job,
    headrace.Failure,
    headrace.Stage,
    headrace.FailureGroup,
    headrace.Bulk,
    headrace.Page,
    headrace.Tracked,
    headrace.Counts,
    headrace.Result,
    headrace.Worker,
    headrace.FeedSettings,
    headrace.FeedCounts,
    headrace.FeedEvent,
    headrace.Audit,
    headrace.Stats,
    headrace.Series,
)
FIXTURES = ("headrace_url", "headrace_client", "headrace_clock", "headrace_app")


def page(made: str) -> Iterator[str]:
    """docs/reference.md."""
    yield from ("# Reference", "", made, "")
    yield sentences.ABOUT_REFERENCE
    yield from ("", "## Connecting", "")
    yield _entry("connect", headrace.connect)
    yield _entry("connect_async", headrace.connect_async)
    for blocking, awaiting, where in FACES:
        yield from _face(blocking, awaiting, where)
    yield from ("", "## Values", "")
    for value in VALUES:
        yield from _value(value)
    yield from ("", "The fields of `Event` are on [their own page](events.md).", "")
    yield from ("## Codecs", "")
    yield f"`Codec`: {_about(headrace.Codec)} {sentences.ABOUT_CODECS}"
    yield from ("", "## Errors", "", "```", *_tree(), "```", "")
    yield from ("## For your tests", "")
    yield from ("`headrace.testing` is a pytest plugin; its fixtures need no import.", "")
    for name in FIXTURES:
        yield f"- fixture `{name}`: {_about(_fixture(name))}"
    for name in ("settable_clock", "open_with_clock", "private_server"):
        yield _entry(f"testing.{name}", getattr(testing, name))
    for name in ("tick", "set"):
        yield _entry(f"Clock.{name}", getattr(testing.Clock, name))


def _face(blocking: type, awaiting: type, where: str) -> Iterator[str]:
    if _methods(blocking).keys() != _methods(awaiting).keys():
        raise SystemExit(f"{blocking.__name__} and {awaiting.__name__} do not offer the same")
    name = blocking.__name__
    yield from ("", f"## {name}", "")
    yield f"{_about(blocking)} {where} `{awaiting.__name__}` has the same names, awaited."
    yield ""
    for member, about in ATTRIBUTES.get(name, {}).items():
        yield f"- `{member}`: {about}"
    for member, value in _properties(blocking).items():
        yield f"- `{member}`: {_about(value)}"
    for member, value in _methods(blocking).items():
        yield _entry(member, value)


def _value(kind: type) -> Iterator[str]:
    members = [f.name if f.default is MISSING else f"{f.name}={f.default!r}" for f in fields(kind)]
    shown = ", ".join(name for name in members if not name.startswith("_"))
    more = ", ".join(f"`.{name}`" for name in _properties(kind))
    derived = f" Also: {more}." if more else ""
    yield f"- `{kind.__name__}({shown})`: {_about(kind)}{derived}"


def _entry(name: str, function: Any) -> str:
    return f"- `{name}{_signature(function)}`: {_about(function)}"


def _signature(function: Any) -> str:
    found = inspect.signature(function)
    parameters = [each for each in found.parameters.values() if each.name != "self"]
    quoted = str(found.replace(parameters=parameters))
    plain = re.sub(r"(: |-> )'([^']*)'", r"\1\2", quoted)
    return plain.replace(" | Unset", "").replace("[Held]", "[Lease]")


def _methods(kind: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def _properties(kind: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in inspect.getmembers(kind, lambda found: isinstance(found, property))
        if not name.startswith("_")
    }


def _about(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def _tree() -> list[str]:
    return (errors.__doc__ or "").strip().splitlines()[2:]


def _fixture(name: str) -> Any:
    found = getattr(plugin, name)
    return getattr(found, "__wrapped__", None) or found._get_wrapped_function()  # noqa: SLF001
