"""docs/reference/api.md: every public name with its signature and the summary of its docstring."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from textwrap import fill
from typing import Any

import headrace
from headrace import errors, options, testing
from headrace.client import method_groups
from headrace.client.connect import ConnectOptions
from headrace.testing import plugin
from tools.docs import sentences

# Groups of client methods. The docstring of each class begins with the attribute of the client.
GROUPS: list[type] = [
    method_groups.Config,
    method_groups.Dependencies,
    method_groups.Failures,
    method_groups.Feeds,
    method_groups.Lakes,
    method_groups.Leases,
    method_groups.Schedules,
    method_groups.Tags,
    method_groups.Throttles,
    method_groups.Tracking,
    method_groups.Workers,
    method_groups.Writes,
]
CLASSES: list[tuple[type, type, str]] = [
    (headrace.Client, headrace.AsyncClient, "Returned by `headrace.connect(...)`."),
    (headrace.Queue, headrace.AsyncQueue, "Returned by `client.queue(name)`."),
    (headrace.Group, headrace.AsyncGroup, "Returned by `client.group(name)`."),
    (headrace.Lease, headrace.AsyncLease, "Returned by `queue.pop(...)`."),
    (
        headrace.Feed,
        headrace.AsyncFeed,
        "Returned by `client.feed(name)` and `client.feeds.create(name)`.",
    ),
    (
        headrace.Listener,
        headrace.AsyncListener,
        "Returned by `feed.listen()` and `client.feeds.listen()`. Close it, or use a `with` block.",
    ),
    (
        headrace.Session,
        headrace.AsyncSession,
        "Returned by `client.session(worker)`. The end of a `with` block ends the session.",
    ),
    (
        headrace.Watch,
        headrace.AsyncWatch,
        "Returned by `client.watch(worker)`. The end of a `with` block ends the watch.",
    ),
]
ATTRIBUTES = {
    "Queue": {"name": "The name of the queue."},
    "Feed": {"name": "The name of the feed.", "sorted": "Whether the feed is sorted."},
    "Group": {"name": "The name of the group."},
    "Lease": {
        "id": "The id of the job.",
        "payload": "The encoded data as bytes.",
        "token": "The fencing token that proves to the server that this worker holds the job.",
        "taken": "`cancelled` or `lost` if a watch received the notice that the lease ended early; "
        "otherwise None.",
    },
    "Watch": {"worker": "The name of the worker."},
    "Session": {
        "worker": "The name of the worker.",
        "token": "The token that proves ownership of the session.",
    },
}
TASKS: list[tuple[type, str]] = [
    (headrace.App, "Create one app per program: `headrace.App(name)`."),
    (headrace.Task, "Returned by `@app.task()` and `@app.cron()`."),
    (headrace.Context, "Returned by `headrace.Context.current()` in a task."),
]
PUBLIC_MODULES = (
    "headrace",
    "headrace.errors",
    "headrace.testing",
    "headrace.telemetry",
    "headrace.spark",
    "headrace.spark.options",
    "headrace.spark.query",
    "headrace.spark.tables",
    "headrace.lake.files",
    "headrace.lake.lake",
    "headrace.compat.qless",
    "headrace.compat.redis_queue",
    "headrace.compat.thoonk",
    "headrace.compat.worqr",
)
OUTCOMES = (headrace.Backoff, headrace.Snooze, headrace.Retry, headrace.Discard)
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


def page(generated: str) -> Iterator[str]:
    """Yield the lines of api.md."""
    yield from ("# API reference", "", generated, "")
    yield sentences.ABOUT_REFERENCE
    yield ""
    listed = ", ".join(f"`{name}`" for name in PUBLIC_MODULES)
    yield fill(sentences.ABOUT_MODULES.format(modules=listed), 100)
    yield from ("", "## Connecting", "")
    yield _entry("connect", headrace.connect)
    yield _entry("connect_async", headrace.connect_async)
    arguments = list(inspect.signature(ConnectOptions).parameters.values())[2:]
    plain = (re.sub(r": '([^']*)'", r": \1", str(each)) for each in arguments)
    shown = ", ".join(f"`{each}`" for each in plain)
    yield f"- `ConnectArguments`: {shown}"
    for kind, origin in TASKS:
        yield from ("", f"## {kind.__name__}", "", f"{_about(kind)} {origin}", "")
        yield from _members(kind)
    yield from ("", "## Retries and outcomes of a task", "", sentences.ABOUT_OUTCOMES, "")
    for kind in OUTCOMES:
        yield _entry(kind.__name__, kind).replace(" -> None`", "`")
    yield from ("", "## Job options", "", sentences.ABOUT_OPTIONS, "")
    yield from _options()
    for sync, asynchronous, origin in CLASSES:
        yield from _class(sync, asynchronous, origin)
        if sync is headrace.Client:
            yield from _groups()
    yield from ("", "## Values", "")
    for value in VALUES:
        yield from _value(value)
    yield from ("", "[Events](events.md) describes the fields of `Event`.", "")
    yield from ("## Codecs", "")
    yield f"`Codec`: {_about(headrace.Codec)} {sentences.ABOUT_CODECS}"
    yield from ("", "## Errors", "", "```", *_tree(), "```", "")
    yield from _testing()


def _testing() -> Iterator[str]:
    yield from ("## Testing", "")
    yield from ("`headrace.testing` is a pytest plugin; its fixtures need no import.", "")
    for name in FIXTURES:
        yield f"- fixture `{name}`: {_about(_fixture(name))}"
    for name in ("settable_clock", "open_with_clock", "private_server"):
        yield _entry(f"testing.{name}", getattr(testing, name))
    for name in ("tick", "set"):
        yield _entry(f"Clock.{name}", getattr(testing.Clock, name))


def _class(sync: type, asynchronous: type, origin: str) -> Iterator[str]:
    if _methods(sync).keys() != _methods(asynchronous).keys():
        raise SystemExit(f"{sync.__name__} and {asynchronous.__name__} have different methods")
    name = sync.__name__
    yield from ("", f"## {name}", "")
    yield f"{_about(sync)} {origin} `{asynchronous.__name__}` has the same methods for asyncio."
    yield ""
    for member, about in ATTRIBUTES.get(name, {}).items():
        yield f"- `{member}`: {about}"
    yield from _members(sync)


def _groups() -> Iterator[str]:
    for kind in GROUPS:
        attribute, _, about = _about(kind).partition(": ")
        yield from ("", f"### {attribute.strip('`')}", "", f"{about[:1].upper()}{about[1:]}", "")
        for member, value in _methods(kind).items():
            yield _entry(member, value)


def _members(kind: type) -> Iterator[str]:
    for member, value in _properties(kind).items():
        yield f"- `{member}`: {_about(value)}"
    for member, value in _methods(kind).items():
        yield _entry(member, value)


def _options() -> Iterator[str]:
    """Yield the table of job options, described by the strings below them in headrace.options."""
    yield from ("| option | type | meaning | use |", "|---|---|---|---|")
    tree = ast.parse(inspect.getsource(options))
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for field, below in zip(kind.body, kind.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                name, about = ast.unparse(field.target), ast.literal_eval(below.value)
                use = "tasks" if name not in options.OPTIONS else "put, tasks"
                use = "put, schedules, tasks" if name in options.SCHEDULE_OPTIONS else use
                yield f"| `{name}` | `{_type(field.annotation)}` | {about} | {use} |"


def _type(annotation: ast.expr) -> str:
    text = re.sub(r"^Annotated\[(.*), \w+\]$", r"\1", ast.unparse(annotation))
    return text.replace("|", "\\|")


def _value(kind: type) -> Iterator[str]:
    members = [f.name if f.default is MISSING else f"{f.name}={f.default!r}" for f in fields(kind)]
    if kind is headrace.Put:
        members = ["data", "**options"]
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
    plain = re.sub(r"Unpack\[(\w+)\]", r"\1", plain)
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
    """Return the first paragraph of a docstring on one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def _tree() -> list[str]:
    return (errors.__doc__ or "").strip().splitlines()[2:]


def _fixture(name: str) -> Any:
    found = getattr(plugin, name)
    return getattr(found, "__wrapped__", None) or found._get_wrapped_function()  # noqa: SLF001
