"""Every public method has a docstring that begins with an imperative sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace.client import groups
from headrace.operations.method import AsyncMethods, MethodGroup, SyncMethods

EXPORTED = [kind for name in headrace.__all__ if inspect.isclass(kind := getattr(headrace, name))]
GROUPS = [
    kind
    for _, kind in inspect.getmembers(groups, inspect.isclass)
    if issubclass(kind, (MethodGroup, SyncMethods, AsyncMethods))
]
# First words that show that a summary describes the method instead of commanding it.
NOT_IMPERATIVE = ("The", "A", "An", "What", "Which", "Who", "Whether", "How", "This", "It")


def public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
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
