"""The examples in the docstrings of apps, tasks and codecs run and print what they show."""

from __future__ import annotations

import doctest
import importlib
from typing import Any
from uuid import uuid4

import pytest

import headrace


def names(url: str) -> dict[str, Any]:
    """Return the names that examples use without defining them: an app, a task and a context."""
    app = headrace.App(f"shop-{uuid4().hex[:8]}", url=url)

    @app.task()
    def send(to: str) -> str:
        return f"sent to {to}"

    contexts: list[headrace.Context] = []

    @app.task()
    def keep_context(context: headrace.Context) -> None:
        contexts.append(context)

    with app.inlined():
        keep_context.put()
    return {"app": app, "context": contexts[0], "headrace": headrace, "send": send}


@pytest.mark.parametrize(
    "name", ["app.app", "app.context", "app.task", "backoff", "codecs.encryption"]
)
def test_examples_of_module_run(name: str, valkey_url: str) -> None:
    runner = doctest.DocTestRunner()

    for test in doctest.DocTestFinder().find(importlib.import_module(f"headrace.{name}")):
        if test.examples:
            given = names(valkey_url)
            test.globs |= given
            runner.run(test)
            given["app"].close()

    assert runner.tries > 0
    assert runner.failures == 0
