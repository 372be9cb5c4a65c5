"""The code blocks of the documents run, and print the output that the documents show."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.testing
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.docs.support.pages import ROOT, Block, blocks, commands, missing, pages, same, steps

# Spark is slow on a busy machine.
pytestmark = pytest.mark.timeout(600)

# Runs the steps of a page as a reader would.
READER = (Path(__file__).parent / "support" / "reader.py").read_text()
BUSY = {"docs/guides/pipeline.md", "headrace demo"}
MAIN = "from headrace.cli.main import main; main()"
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "FORCE_COLOR": ""}


@pytest.fixture
def here() -> Iterator[Path]:
    """A scratch directory; an embedded server that runs there stops after the test."""
    with scratch_directory() as path:
        yield path
        embedded.stop(path / ".headrace")


def run(here: Path, code: str, *arguments: str, say: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=here,
        env=os.environ | PLAIN,
        input=say,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def marks_for(case: str) -> list[pytest.MarkDecorator]:
    """Give the mark `long` to pages that keep Spark busy for a minute; test_demo tests the demo."""
    return [pytest.mark.long] if case in BUSY else []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=named(page), marks=marks_for(named(page)))
        for page in pages()
        if steps(page)
    ],
)
def test_steps_of_a_page_print_what_it_shows(page: Path, here: Path) -> None:
    done = steps(page)
    ready = [(step.kind, str(step.block), step.text) for step in done]

    outputs = json.loads(run(here, READER, say=json.dumps(ready)))

    for step, printed in zip(done, outputs, strict=True):
        if step.kind == "begin":
            assert missing(printed, step.said) == [], str(step.block)
        else:
            assert same(printed, step.said), f"{step.block}: {printed}"


SHOWN = [(str(block), lines) for page in pages() for block, lines in commands(page)]


@pytest.mark.parametrize(
    ("where", "lines"),
    [pytest.param(*case, id=case[0], marks=marks_for(case[1][0][0])) for case in SHOWN],
)
def test_commands_of_a_block_print_what_the_page_shows(
    where: str, lines: list[tuple[str, str]], here: Path
) -> None:
    for line, said in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program == "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert set(arguments) <= set(targets), where
        else:
            assert program == "headrace", f"{where}: nothing runs {program}"
            printed = run(here, MAIN, *arguments)
            assert not said.strip() or same(printed, said), f"{where}: {line}: {printed}"


def test_every_output_block_follows_a_python_block() -> None:
    for page in pages():
        before = Block("", 0, "", "")
        for block in blocks(page):
            assert block.kind != "text" or before.kind == "python", f"{block}: printed by what?"
            before = block


def test_example_in_the_testing_docstring_passes(here: Path) -> None:
    """The example in the documentation of headrace.testing is a test; it passes."""
    example = (headrace.testing.__doc__ or "").partition("import:\n\n")[2]
    lines = [line.removeprefix("    ") for line in example.splitlines()]
    (here / "test_example.py").write_text("\n".join(lines) + "\n")

    told = run(
        here,
        "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))",
        *("-q", "-p", "no:cacheprovider", "-p", "no:asyncio"),
    )

    assert "1 passed" in told
