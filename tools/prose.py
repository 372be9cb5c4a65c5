"""Find sentences that are hard to read: `python -m tools.prose [--list] [PATH...]`.

Reads Markdown outside of code blocks, Python docstrings, comments and messages, and Lua comments. A
message is a string with a space and at least 25 characters. A pattern can match a good sentence, so
the check allows a few findings. It fails if a group of folders has more findings per thousand lines
of prose than LIMITS allows.

Each line of `tools/prose_allowed.txt` allows a legitimate use: a path pattern and part of the text.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = Path(__file__).parent / "prose_allowed.txt"
SHORTEST_MESSAGE = 25
# These files quote the patterns.
SKIPPED = ("tools/prose.py", "tests/docs/test_prose.py")

# The largest number of findings per thousand lines of prose, by group of folders.
LIMITS = {"docs and src": 5.0, "tests, benchmarks, examples": 10.0}
_SECOND_GROUP = ("tests", "benchmarks", "examples")

# A sentence starts at the start of a text, after punctuation, in a list item or in a table cell.
_START = r"(?:^|(?<=[.!?:;|] )|(?<=[.!?][)\"] )|(?<=^- )|(?<=^\* ))"
# Matches if the sentence is not a question.
_STATEMENT = r"(?=[^.?!]*(?:[.!;]|$))"
_BE = r"(?:is|are|was|were|be|been|being|gets?)"

# Alternatives for each pattern. A pattern for the opening of a sentence matches capitals only.
_ALTERNATIVES = {
    "what-clause": (
        rf"{_START}What\b{_STATEMENT}",
        r"\b(?:of|from|with|to|in|by|than|and|but) what (?:is|was|has|had|are|were|there)\b",
        r"\b(?:of|from|with|to|in|by|than|and|but) what (?:it|they)\b",
        r"\bwhat (?:came|comes|became|becomes|will become) of\b",
        r"\b(?:is|are|was) what (?!happen)",
        rf", what (?:is|was|has|are|were)\b{_STATEMENT}",
    ),
    "who or which as subject": (
        rf"{_START}(?:Who|Whose|Whom|Which|Whatever|Whichever|Whoever)\b{_STATEMENT}",
        rf"{_START}That which\b",
        r"[,;] (?:who|whatever) (?:is|was|has|does|wants|asks|comes)\b",
    ),
    "indefinite person": (
        r"(?i:\b(?:nobody|somebody|anybody|everybody|whoever|whomever|whosoever)\b)",
    ),
    "said, told, heard": (
        rf"\b{_BE}(?: \w+ly| not| never| at once| all)? (?:said|told|heard|asked for|meant)\b",
        r"(?i:\b(?:hear|hears|heard)\b)",
        r"\b[Tt]old (?:to|by|at|that|when|how|whether|what|from|not|as|in)\b",
        r"(?i:\b(?:says?|said|tells?|told) (?:so|nothing|of it|of|about it|the rest)\b)",
        r"\bsays? it\b|\b(?:tells?|say) (?:what|who|it|them) \b|\b[Uu]nless told\b",
    ),
    "as it is, for ever, by itself": (
        r"\bfor ever\b|\bby (?:itself|themselves)\b",
        r"\b[Aa]s (?:it|they) (?:is|are|was|were)\b(?! when)",
        r"\b(?:comes?|came|becomes?|became) of (?:it|them|that|each|a|the|jobs?)\b",
        r"\bat hand\b|\bnone of its own\b|\bone's own\b|\bin the way\b",
        r"\bnot (?:there )?any ?more\b|\bnever was\b|\bas \w+ as may be\b|\bthose that are\b",
    ),
    "inverted opening": (
        rf"{_START}Where\b{_STATEMENT}",
        rf"{_START}(?:Of (?!course)|Nor\b|Not (?:so|one)\b|So it is\b|Never (?:is|was|does|has)\b)",
        rf"{_START}(?:Beyond that|(?:To|By|On|In) which|To whom|From when|Too late)\b",
    ),
    "so many": (r"(?i:\bso (?:many|much)(?! as)\b)", r"\bhow manieth\b"),
    "beside": (r"(?i:\bbesides?\b)",),
    "stands, lies": (
        r"\b(?:stands?|stood|lies?|lay|lain|laid) (?:in|on|at|for|by|with|as|where|there|here)\b",
        r"\b(?:stands?|stood|lies?|lay|lain|laid) (?:behind|before|below|above|under|between)\b",
        r"\b(?:stands?|stood|lies?|lay|lain|laid) (?:apart|down|open|around|together|outside)\b",
    ),
    "of whom, of which": (
        r"\b(?:of|by|to|from|with|for) whom\b",
        r"\bof which (?:there|one|none|nothing|some|all|each|the|it|they|we)\b",
        r"\bof what (?:it|they|we)\b",
    ),
    "private word": (
        r"(?i:\b(?:keeps? house|kept house|upkeep|both colours|short way|general way)\b)",
        r"(?i:\b(?:parcels?|badges?|ledger|gist|tally|tallies|patience|dialects?|rivals?)\b)",
        r"\bin the hands of\b|\bthe other half of\b",
    ),
}
PATTERNS = {name: re.compile("|".join(parts)) for name, parts in _ALTERNATIVES.items()}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of prose that belong together, each with its line number."""

    lines: tuple[tuple[int, str], ...]

    def findings(self) -> Iterator[tuple[int, str, str]]:
        """Yield the line number, the pattern and the text, once per pattern and line."""
        starts: list[int] = []
        text = ""
        for _, line in self.lines:
            starts.append(len(text))
            text += line + " "
        seen: set[tuple[int, str]] = set()
        for name, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                at = max(i for i, start in enumerate(starts) if start <= match.start())
                number, line = self.lines[at]
                if (number, name) not in seen:
                    seen.add((number, name))
                    yield number, name, line


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of prose that matches a pattern."""

    path: str
    line: int
    pattern: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.pattern}] {self.text}"


# extraction


def paragraphs(path: Path) -> list[Paragraph]:
    """Return the prose of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return list(_grouped(_markdown(text)))
    if path.suffix == ".lua":
        return list(_grouped(_lua(text)))
    return list(_python(text))


def _grouped(lines: Iterable[tuple[int, str]]) -> Iterator[Paragraph]:
    """Join adjacent lines; an empty line, a list item or a table row begins a paragraph."""
    group: list[tuple[int, str]] = []
    for number, line in lines:
        text = line.strip()
        new_block = text.startswith(("- ", "* ", "|", "#")) or (
            group and number != group[-1][0] + 1
        )
        if group and (not text or new_block):
            yield Paragraph(tuple(group))
            group = []
        if text:
            group.append((number, text))
    if group:
        yield Paragraph(tuple(group))


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, _without_code(line)


def _without_code(line: str) -> str:
    line = re.sub(r"`[^`]*`", "`x`", line)
    return re.sub(r"\]\([^)]*\)", "]", line)


def _lua(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"(?:^|\s)--\s?(.*)", line)
        if found and not re.match(r"(?:args|each|uses|later|needs|flags)\s{2,}", found[1]):
            # The name of the file, or of a header field, is not part of the sentence.
            yield number, re.sub(r"^(?:\w+: |(?:reply|error)\s{2,})", "", found[1])


def _python(text: str) -> Iterator[Paragraph]:
    yield from _grouped(_comments(text))
    tree = ast.parse(text)
    docstrings = _docstrings(tree)
    for node in docstrings.values():
        yield from _grouped(_docstring_lines(node))
    for number, message in _messages(tree, set(docstrings)):
        yield Paragraph(((number, message),))


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comment = re.sub(
                r"(?:noqa|type: ignore)\S*(?: [A-Z]+\d+,?)*[\s:-]*", "", token.string[1:]
            )
            yield token.start[0], comment.strip()


def _docstrings(tree: ast.Module) -> dict[int, ast.Constant]:
    """Return docstrings and the strings below attributes, by the id of their syntax node."""
    found: dict[int, ast.Constant] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            found[id(node.value)] = node.value
    return found


def _docstring_lines(node: ast.Constant) -> Iterator[tuple[int, str]]:
    lines = str(node.value).splitlines()
    margin = node.col_offset
    for offset, line in enumerate(lines):
        # Lines that are indented further are examples.
        is_code = offset > 0 and line[margin : margin + 4] == "    "
        yield node.lineno + offset, "" if is_code else _without_code(line)


def _messages(tree: ast.Module, docstrings: set[int]) -> Iterator[tuple[int, str]]:
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in inside or id(node) in docstrings:
            continue
        if isinstance(node, ast.JoinedStr):
            message = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            message = node.value
        else:
            continue
        if " " in message and len(message) >= SHORTEST_MESSAGE and not _is_code(message):
            yield node.lineno, " ".join(message.split())


def _is_code(message: str) -> bool:
    """Return whether a string is a program, a pattern or SQL rather than a sentence."""
    return bool(
        re.search(
            r"\n\s*(?:import|from|def|local|SELECT|return)\b|\(\?|^\s*SELECT |\blocal \w+ =",
            message,
        )
    )


# the check


def tracked(paths: list[str]) -> list[Path]:
    """Return the files of the repository that contain prose."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in listed.stdout.splitlines() if not name.startswith(SKIPPED)]
    found = [ROOT / name for name in names]
    return [path for path in found if path.suffix in {".md", ".py", ".lua"} and path.is_file()]


def allowed(text: str) -> list[tuple[str, str]]:
    """Parse the list of legitimate uses, whose lines are `path pattern: part of the text`."""
    rules = [line.partition(": ") for line in text.splitlines() if line and line[0] != "#"]
    return [(pattern, part) for pattern, _, part in rules]


def check(paths: list[Path], rules: list[tuple[str, str]]) -> tuple[list[Finding], Counter[str]]:
    """Return the findings, and the number of lines of prose of each group."""
    findings: list[Finding] = []
    lines: Counter[str] = Counter()
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        for paragraph in paragraphs(path):
            lines[group_of(name)] += len(paragraph.lines)
            for line, pattern, text in paragraph.findings():
                if not any(fnmatch(name, glob) and part in text for glob, part in rules):
                    findings.append(Finding(name, line, pattern, text))
    return findings, lines


def group_of(name: str) -> str:
    """Return the group of folders whose limit applies to a file."""
    first, second = LIMITS
    return second if name.split("/", 1)[0] in _SECOND_GROUP else first


def main(arguments: list[str] | None = None) -> int:
    """Print the findings, or their number per group; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description="Check the prose.")
    parser.add_argument("--list", action="store_true", help="print every finding")
    parser.add_argument(
        "paths", nargs="*", help="files and folders; the whole repository by default"
    )
    options = parser.parse_args(arguments)
    findings, lines = check(tracked(options.paths), allowed(ALLOWED.read_text()))
    counts = Counter(group_of(finding.path) for finding in findings)
    rates = {group: 1000 * counts[group] / max(1, lines[group]) for group in lines}
    exceeded = [group for group in lines if rates[group] > LIMITS[group]]
    for finding in findings:
        if options.list or group_of(finding.path) in exceeded:
            sys.stdout.write(f"{finding}\n")
    for group in lines:
        sys.stdout.write(
            f"{group}: {counts[group]} findings in {lines[group]} lines of prose, "
            f"{rates[group]:.1f} per thousand (limit {LIMITS[group]:.0f})\n"
        )
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
