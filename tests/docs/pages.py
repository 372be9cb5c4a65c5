"""The documents as their readers see them: blocks of code, and what they are said to print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{24}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "<day>"),
    (re.compile(r"unix://\S+"), "<url>"),
    # A table is as wide as what stands in it.
    (re.compile(r"\d+ s ago *"), "<ago> "),
    (re.compile(r"when *"), "when "),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def tracked() -> list[Path]:
    """Every file of the project, also new ones that nobody has added yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def pages() -> list[Path]:
    """Every document."""
    return sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    name = str(page.relative_to(ROOT))
    return [
        Block(name, text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


def programs(page: Path) -> list[tuple[Block, str]]:
    """The Python of a page, each block with what it is said to print."""
    found = [*blocks(page), Block("", 0, "", "")]
    return [
        (block, after.text if after.kind == "text" else "")
        for block, after in pairwise(found)
        if block.kind == "python"
    ]


def commands(page: Path) -> Iterator[tuple[Block, list[tuple[str, str]]]]:
    """Blocks with the commands that they show after a $, and what these are said to print."""
    for block in blocks(page):
        if block.kind == "console":
            parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
            yield (
                block,
                [(line, said) for line, _, said in (part.partition("\n") for part in parts)],
            )


def steady(output: str) -> str:
    """What was printed without what differs from run to run: ids, moments, places."""
    for changing, name in _CHANGING:
        output = changing.sub(name, output)
    return "\n".join(line.rstrip() for line in output.strip().splitlines())
