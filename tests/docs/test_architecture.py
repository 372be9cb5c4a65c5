"""ARCHITECTURE.md names files, folders and packages that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.support.pages import ROOT, tracked

PAGE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "headrace"
FILES = set(tracked())
TOP_FOLDERS = ("src/", "docs/", "tests/", "tools/", "benchmarks/")

# Inline code that is a path: it ends with a slash or with the suffix of a source file.
MENTIONED = sorted(set(re.findall(r"`((?:\.\./)?[\w/.]+(?:/|\.py|\.lua|\.md|\.toml))`", PAGE)))


def test_the_page_mentions_files() -> None:
    assert len(MENTIONED) > 40


@pytest.mark.parametrize("path", MENTIONED)
def test_every_path_of_the_page_exists(path: str) -> None:
    base = ROOT if path.startswith(TOP_FOLDERS) or path == "pyproject.toml" else SOURCE
    target = (base / path).resolve()
    assert target in FILES or any(target in file.parents for file in FILES), path


def test_every_package_is_in_the_table() -> None:
    packages = {file.parent.name for file in FILES if file.parent.parent == SOURCE}
    listed = set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))
    assert listed == packages - {"__pycache__"}
