"""`make requirements`: every requirement with the tests that prove it; fails if one has none.

The requirements are the lines "- **ID** text" of docs/requirements/*.md; the proofs are the
tests marked with proves("ID").
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def required() -> dict[str, str]:
    """Ids and texts, in the order of the documents."""
    found: dict[str, str] = {}
    for page in sorted((ROOT / "docs" / "requirements").glob("*.md")):
        lines = re.findall(r"^- \*\*([A-Z]+-\d+)\*\* (.*)$", page.read_text(), re.MULTILINE)
        for identity, text in lines:
            if identity in found:
                raise SystemExit(f"{identity} stands twice in docs/requirements")
            found[identity] = text
    return found


def proofs() -> dict[str, list[str]]:
    """Ids and the tests that claim to prove them."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, identity in _marked(ast.parse(path.read_text())):
            test = f"{path.relative_to(ROOT)}::{name}"
            if test not in found.setdefault(identity, []):
                found[identity].append(test)
    return found


def _marked(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "proves":
                for argument in mark.args:
                    if isinstance(argument, ast.Constant):
                        yield node.name, str(argument.value)


def main() -> int:
    wanted, proved = required(), proofs()
    for identity, text in wanted.items():
        print(f"{identity}  {text}")
        for test in proved.get(identity, ["  NOTHING PROVES THIS"]):
            print(f"    {test}")
    unproved = [identity for identity in wanted if identity not in proved]
    unknown = sorted(set(proved) - set(wanted))
    print(f"\n{len(wanted)} requirements, {len(wanted) - len(unproved)} proved")
    if unproved:
        print(f"without a test: {', '.join(unproved)}")
    if unknown:
        print(f"tests name ids that docs/requirements does not: {', '.join(unknown)}")
    return 1 if unproved or unknown or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
