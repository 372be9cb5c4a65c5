"""Read the code blocks of the documents and the output that the documents show."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[3]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGING = (
    (re.compile(r"\b[0-9a-z]{16}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "<day>"),
    (re.compile(r"unix://\S+"), "<url>"),
    # The width of a table column depends on its content.
    (re.compile(r"\d+ s ago *"), "<ago> "),
    (re.compile(r"when *"), "when "),
)

SPARK = "headrace.spark"

_FILE = re.compile(r"# \w+\.py\n")
_DIFFERS = re.compile(r"worker=\S+|[\d,.:]*\d(?: (?:m?s|min)\b)?|[█░]+ ?")


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
    """Return every file of the project, including new files that are not staged yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def pages() -> list[Path]:
    """Return every document."""
    return sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text()
    name = str(page.relative_to(ROOT))
    return [
        Block(name, text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


@dataclass(frozen=True, slots=True)
class Step:
    """An action of a reader: write a file, start a worker, run Python or a command."""

    block: Block
    kind: str
    text: str
    said: str


def steps(page: Path) -> list[Step]:
    """Return the actions of a page that run in one directory, in order.

    All Python blocks are included. Commands are included after the first worker (a command with
    a & at its end) or the first use of Spark, and if they contain a variable that Python has set.
    """
    found: list[Step] = []
    for block in blocks(page):
        if block.kind == "python":
            kind = "file" if _FILE.match(block.text) else "python"
            found.append(Step(block, kind, block.text, ""))
        elif block.kind == "text" and found:
            found[-1] = replace(found[-1], said=block.text)
        elif block.kind == "console" and _has_begun(found, block):
            found += [_typed(block, line, said) for line, said in _lines(block)]
    return found


def commands(page: Path) -> Iterator[tuple[Block, list[tuple[str, str]]]]:
    """Yield each console block that is not a step of the page, with its commands and output."""
    of_the_page = {step.block for step in steps(page)}
    for block in blocks(page):
        if block.kind == "console" and block not in of_the_page:
            yield block, _lines(block)


def _lines(block: Block) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [(line, said) for line, _, said in (part.partition("\n") for part in parts)]


def _has_begun(found: list[Step], block: Block) -> bool:
    return any(step.kind == "begin" or SPARK in step.text for step in found) or any(
        line.endswith("&") or " $" in line for line, _ in _lines(block)
    )


def _typed(block: Block, line: str, said: str) -> Step:
    kind = "begin" if line.endswith("&") else "run"
    return Step(block, kind, line.removesuffix("&").strip(), said)


def same(printed: str, said: str) -> bool:
    """Return whether the output matches the text of the page.

    If the page omits lines with a line of ..., its other lines must occur in this order, and their
    numbers may differ. A line may end with ... too.
    """
    if not re.search(r"^ *\.\.\.$", said, re.MULTILINE):
        return steady(printed) == steady(said)
    lines = iter(_shapes(printed))
    return all(any(_fits(line, shape) for line in lines) for shape in _shapes(said))


def missing(log: str, said: str) -> list[str]:
    """Return the lines that a page shows as a worker's log but that the log does not contain."""
    written = _shapes(log)
    return [shape for shape in _shapes(said) if not any(_fits(line, shape) for line in written)]


def _fits(line: str, shape: str) -> bool:
    return line.startswith(shape[:-3]) if shape.endswith("...") else line == shape


def _shapes(text: str) -> list[str]:
    """Return the lines without numbers, bars and column widths, which differ between runs."""
    lines = [_DIFFERS.sub("#", line) for line in steady(text).splitlines()]
    return [" ".join(line.split()) for line in lines if line.strip() not in ("", "...")]


def steady(output: str) -> str:
    """Return the output without ids, timestamps and paths, which differ between runs."""
    for changing, name in _CHANGING:
        output = changing.sub(name, output)
    return "\n".join(line.rstrip() for line in output.strip().splitlines())
