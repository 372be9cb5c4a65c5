"""`make requirements`: every requirement with the tests that prove it; fails if one has none.

The requirements are the lines "- **ID** text" of docs/requirements/*.md; the proofs are the
tests marked with proves("ID"): of the engine, and, for what one of the four documents says, also in
the words of that document. What a dialect cannot show stands in its tests with the reason.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIALECTS = {"T": "thoonk", "Q": "qless", "W": "worqr", "R": "redis_queue"}


@dataclass
class Proof:
    """The tests that claim to prove a requirement, and why none does so in its dialect."""

    engine: list[str] = field(default_factory=list)
    dialect: list[str] = field(default_factory=list)
    not_shown: str = ""


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


def proofs() -> dict[str, Proof]:
    """Ids and what is said to prove them."""
    found: dict[str, Proof] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        of_dialect = path.is_relative_to(ROOT / "tests" / "dialects")
        for name, identity in _marked(ast.parse(path.read_text())):
            proof = found.setdefault(identity, Proof())
            tests = proof.dialect if of_dialect else proof.engine
            test = f"{path.relative_to(ROOT)}::{name}"
            if test not in tests:
                tests.append(test)
    for dialect in DIALECTS.values():
        for identity, reason in _not_shown(dialect).items():
            found.setdefault(identity, Proof()).not_shown = reason
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


def _not_shown(dialect: str) -> dict[str, str]:
    if not (ROOT / "tests" / "dialects" / dialect / "not_shown.py").exists():
        return {}
    found: dict[str, str] = import_module(f"tests.dialects.{dialect}.not_shown").NOT_SHOWN
    return found


def dialect_of(identity: str) -> str | None:
    """The dialect in whose words a requirement must be shown, if that dialect is there."""
    said = re.fullmatch(r"([TQWR])D?-\d+", identity)
    dialect = DIALECTS[said[1]] if said else None
    there = dialect and (ROOT / "src" / "headrace" / "compat" / dialect).is_dir()
    return dialect if there else None


def _proved(identity: str, proof: Proof) -> bool:
    """What a document says is proved of the engine; what came later may be of its dialect alone."""
    return bool(proof.engine or (proof.dialect and not dialect_of(identity)))


def problems(wanted: dict[str, str], found: dict[str, Proof]) -> dict[str, list[str]]:
    """What is wrong, and with which ids."""
    in_words = {one: dialect_of(one) for one in wanted}
    none = Proof()
    return {
        "without a test": [one for one in wanted if not _proved(one, found.get(one, none))],
        "tests name ids that docs/requirements does not": sorted(set(found) - set(wanted)),
        **{
            f"without a test in the words of {dialect}": [
                one
                for one in wanted
                if in_words[one] == dialect
                and not found.get(one, none).dialect
                and not found.get(one, none).not_shown
            ]
            for dialect in DIALECTS.values()
        },
        "said not to be shown, but shown": [
            one for one, proof in found.items() if proof.dialect and proof.not_shown
        ],
    }


def _lines(identity: str, proof: Proof) -> Iterator[str]:
    yield from proof.engine
    if not _proved(identity, proof):
        yield "NOTHING PROVES THIS"
    dialect = dialect_of(identity)
    if proof.not_shown:
        yield f"not shown in the words of {dialect}: {proof.not_shown}"
    elif identity[0] in DIALECTS and (proof.dialect or dialect):
        yield f"in the words of {DIALECTS[identity[0]]}:"
        yield from (f"    {test}" for test in proof.dialect or ["NOTHING PROVES THIS"])


def main() -> int:
    wanted, found = required(), proofs()
    for identity, text in wanted.items():
        print(f"{identity}  {text}")
        for line in _lines(identity, found.get(identity, Proof())):
            print(f"    {line}")
    wrong = {what: ids for what, ids in problems(wanted, found).items() if ids}
    in_words = sum(1 for one in wanted if found.get(one, Proof()).dialect)
    proved = sum(1 for one in wanted if _proved(one, found.get(one, Proof())))
    print(f"\n{len(wanted)} requirements, {proved} proved, {in_words} in the words of a dialect")
    for what, ids in wrong.items():
        print(f"{what}: {', '.join(ids)}")
    return 1 if wrong or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
