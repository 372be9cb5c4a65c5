"""Every public method has a docstring with an imperative summary, its errors and an example.

test_docstring_examples.py and tests/app/test_docstrings.py run the examples.
"""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace.client import method_groups
from headrace.operations.method import AsyncMethods, MethodGroup, SyncMethods

EXPORTED = [kind for name in headrace.__all__ if inspect.isclass(kind := getattr(headrace, name))]
GROUPS = [
    kind
    for _, kind in inspect.getmembers(method_groups, inspect.isclass)
    if issubclass(kind, (MethodGroup, SyncMethods, AsyncMethods))
]
# First words that show that a summary describes the method instead of commanding it.
NOT_IMPERATIVE = ("The", "A", "An", "What", "Which", "Who", "Whether", "How", "This", "It")

# Methods that raise nothing. Methods that make a call can raise ServerUnavailable at least.
RAISES_NOTHING = {
    *("App.aclose", "App.close", "AsyncClient.close", "Client.close"),
    *("AsyncListener.close", "Listener.close", "AsyncWatch.close", "Watch.close"),
    *(
        "Backoff.seconds",
        "Encrypted.bind",
        "Encrypted.encode_of",
        "Encrypted.new_key",
        "Task.after",
        "Task.at",
    ),
}
# Methods without an example: each takes at most a name, or the example of its class shows it.
TRIVIAL = {
    *("Client.close", "Client.queue", "Listener.close", "Queue.length", "Watch.close"),
    *("Feed.counts", "Feed.delete", "Feed.has", "Feed.length", "Feed.settings"),
    *("Feeds.exists", "Feeds.list", "Lakes.list", "Throttles.list", "Writes.list"),
    *("Tracking.list", "Tracking.remove"),
    *("App.aclose", "App.close", "Backoff.seconds", "Task.after", "Task.at"),
    *("Codec.decode", "Codec.encode", "Encrypted.bind"),
    *("Encrypted.decode_of", "Encrypted.encode_of"),
    *("Encrypted.decode", "Encrypted.digest", "Encrypted.encode"),
}
SEE = re.compile(r"[Ss]ee (\w+)\.(\w+)")
RAISES = re.compile(r"\b[Rr]aises?\b")
GROUP_SUMMARY = re.compile(r"`client\.(\w+)`: (.+)")
EXAMPLE = re.compile(r"\n\n(?: {4}|>>> )")
CLASSES = {kind.__name__: kind for kind in (*EXPORTED, *GROUPS)}


def is_python_function(value: object) -> bool:
    return inspect.isfunction(value) or inspect.ismethod(value)


def public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, method in inspect.getmembers(kind, is_python_function):
        if not name.startswith("_") and method.__module__.startswith("headrace"):
            yield name, method


@pytest.mark.parametrize("kind", sorted({*EXPORTED, *GROUPS}, key=str))
def test_public_methods_begin_with_an_imperative_summary(kind: type) -> None:
    for name, method in public_methods(kind):
        summary, *others = (inspect.getdoc(method) or "").split("\n")
        first = summary.split(" ")[0]
        assert summary.endswith("."), f"{name}: the summary must be one line and end with a period"
        assert others[:1] in ([], [""]), f"{name}: a blank line must follow the summary"
        assert first[:1].isupper(), f"{name}: the summary must begin with a capital"
        assert first not in NOT_IMPERATIVE, f"{name}: the summary must begin with a verb"
        is_third_person = first.endswith("s") and not first.endswith("ss")
        assert not is_third_person, f"{name}: write 'Return', not 'Returns'"


def full_docstring(method: Any) -> str:
    """Return the docstring, and append the docstring of a method to which it refers."""
    docstring = inspect.getdoc(method) or ""
    found = SEE.search(docstring.split("\n")[0])
    return docstring + full_docstring(getattr(CLASSES[found[1]], found[2])) if found else docstring


@pytest.mark.parametrize("kind", sorted({*EXPORTED, *GROUPS}, key=str))
def test_public_methods_list_their_errors(kind: type) -> None:
    for name, method in public_methods(kind):
        lists_errors = bool(RAISES.search(full_docstring(method)))
        named = f"{kind.__name__}.{name}"
        assert lists_errors != (named in RAISES_NOTHING), f"{named}: write 'Raises ... if ...'"


@pytest.mark.parametrize("kind", sorted({*EXPORTED, *GROUPS}, key=str))
def test_public_methods_have_an_example_unless_they_are_trivial(kind: type) -> None:
    for name, method in public_methods(kind):
        has_example = bool(EXAMPLE.search(full_docstring(method)))
        named = f"{kind.__name__.removeprefix('Async')}.{name}"
        assert has_example != (named in TRIVIAL), f"{named}: add an example of one to three lines"


@pytest.mark.parametrize("kind", [headrace.Client, headrace.AsyncClient])
def test_help_shows_the_groups_of_a_client(kind: type) -> None:
    text = pydoc.plain(pydoc.render_doc(kind))

    for group in GROUPS:
        summary = (inspect.getdoc(group) or "").split("\n")[0]
        if found := GROUP_SUMMARY.fullmatch(summary):
            name, about = found.groups()
            shown = rf"\| +{name} = .*\n.*{re.escape(about)}"
            assert re.search(shown, text, re.IGNORECASE), name


def test_lists_of_exceptions_name_existing_methods() -> None:
    existing = {
        f"{name}.{each}" for name, kind in CLASSES.items() for each, _ in public_methods(kind)
    }

    assert existing >= RAISES_NOTHING | TRIVIAL
