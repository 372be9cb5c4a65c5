"""No file contains paths or hosts of one machine, and every link has a target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.support.pages import ROOT, pages, tracked

# Absolute paths of one machine.
PLACES = re.compile(r"(?<![\w.*~}])/(?:home|Users|root|work|workspace|mnt|opt|srv)/[\w.-]+")
# Package indexes are configured on each machine, not in the project.
INDEXES = re.compile(r"(?<!no-emit-)(?:index[-_]url|find[-]links|trusted[-_]host)")
ADDRESS = re.compile(r"https?://([\w.-]+)")
KNOWN_HOSTS = {"localhost"}


def texts() -> dict[str, str]:
    found = {}
    for path in tracked():
        try:
            found[str(path.relative_to(ROOT))] = path.read_text()
        except UnicodeDecodeError:
            continue
    return found


def test_texts_include_the_main_files() -> None:
    assert {"README.md", "Makefile", "requirements/dev.txt", "tests/docs/test_words.py"} <= set(
        texts()
    )


def test_no_file_contains_an_absolute_path_of_a_machine() -> None:
    found = {name: PLACES.findall(text) for name, text in texts().items()}

    assert {name: places for name, places in found.items() if places} == {}


def test_no_file_names_a_package_index_or_unknown_host() -> None:
    found = {name: INDEXES.findall(text) for name, text in texts().items()}
    hosts = {host for text in texts().values() for host in ADDRESS.findall(text)}

    assert {name: words for name, words in found.items() if words} == {}
    assert hosts <= KNOWN_HOSTS


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_a_target(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        place, _, heading = target.partition("#")
        there = page.parent / place if place else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert heading in {_anchor(text) for text in headings}, target


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")
