"""The examples in the docstrings of apps and tasks run and print what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["app.app", "app.context", "app.task", "backoff"])
def test_examples_of_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"headrace.{name}"))

    assert result.attempted > 0
    assert result.failed == 0
