"""The examples in the docstrings of the app package run and print what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["app", "backoff", "context", "task"])
def test_examples_of_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"headrace.app.{name}"))

    assert result.attempted > 0
    assert result.failed == 0
