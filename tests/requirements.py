"""List every requirement with the tests that prove it, for `make requirements`.

The requirements are the lines "- **ID** text" of docs/requirements/*.md. A test proves one if it is
marked with proves("ID"). A requirement from one of the four documents needs a test of the engine,
and a test of the document's compatibility API or a reason in the API's not_shown.py. The
command fails if a requirement lacks a test.
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
API_TESTS = ROOT / "tests" / "compat"
APIS = {"T": "thoonk", "Q": "qless", "W": "worqr", "R": "redis_queue"}


@dataclass
class Proof:
    """The tests that prove a requirement, and the reason if its compatibility API has none."""

    engine: list[str] = field(default_factory=list)
    api: list[str] = field(default_factory=list)
    not_shown: str = ""


def required() -> dict[str, str]:
    """Return the texts of the requirements by id, in the order of the documents."""
    found: dict[str, str] = {}
    for page in sorted((ROOT / "docs" / "requirements").glob("*.md")):
        lines = re.findall(r"^- \*\*([A-Z]+-\d+)\*\* (.*)$", page.read_text(), re.MULTILINE)
        for identity, text in lines:
            if identity in found:
                raise SystemExit(f"requirement {identity} occurs twice in docs/requirements")
            found[identity] = text
    return found


def proofs() -> dict[str, Proof]:
    """Return the proofs by the id of the requirement."""
    found: dict[str, Proof] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        is_of_api = any(path.is_relative_to(API_TESTS / api) for api in APIS.values())
        for name, identity in _marked(ast.parse(path.read_text())):
            proof = found.setdefault(identity, Proof())
            tests = proof.api if is_of_api else proof.engine
            test = f"{path.relative_to(ROOT)}::{name}"
            if test not in tests:
                tests.append(test)
    for api in APIS.values():
        for identity, reason in _not_shown(api).items():
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


def _not_shown(api: str) -> dict[str, str]:
    if not (API_TESTS / api / "not_shown.py").exists():
        return {}
    found: dict[str, str] = import_module(f"tests.{API_TESTS.name}.{api}.not_shown").NOT_SHOWN
    return found


def api_of(identity: str) -> str | None:
    """Return the compatibility API that must show a requirement; None if no API must."""
    found = re.fullmatch(r"([TQWR])D?-\d+", identity)
    return APIS[found[1]] if found else None


def _proved(identity: str, proof: Proof) -> bool:
    """Return whether a test of the engine proves a requirement.

    For an addition, such as QL-01, a test of a compatibility API is enough.
    """
    return bool(proof.engine or (proof.api and not api_of(identity)))


def problems(wanted: dict[str, str], found: dict[str, Proof]) -> dict[str, list[str]]:
    """Return the ids of incorrect requirements, by problem."""
    shown_by = {one: api_of(one) for one in wanted}
    none = Proof()
    return {
        "without a test": [one for one in wanted if not _proved(one, found.get(one, none))],
        "named by a test, but not in docs/requirements": sorted(set(found) - set(wanted)),
        **{
            f"without a test of the API {api}": [
                one
                for one in wanted
                if shown_by[one] == api
                and not found.get(one, none).api
                and not found.get(one, none).not_shown
            ]
            for api in APIS.values()
        },
        "in not_shown.py, but with a test": [
            one for one, proof in found.items() if proof.api and proof.not_shown
        ],
    }


def _lines(identity: str, proof: Proof) -> Iterator[str]:
    yield from proof.engine
    if not _proved(identity, proof):
        yield "NOTHING PROVES THIS"
    api = api_of(identity)
    if proof.not_shown:
        yield f"not shown by the API {api}: {proof.not_shown}"
    elif identity[0] in APIS and (proof.api or api):
        yield f"by the API {APIS[identity[0]]}:"
        yield from (f"    {test}" for test in proof.api or ["NOTHING PROVES THIS"])


def main() -> int:
    wanted, found = required(), proofs()
    for identity, text in wanted.items():
        print(f"{identity}  {text}")
        for line in _lines(identity, found.get(identity, Proof())):
            print(f"    {line}")
    wrong = {what: ids for what, ids in problems(wanted, found).items() if ids}
    by_api = sum(1 for one in wanted if found.get(one, Proof()).api)
    proved = sum(1 for one in wanted if _proved(one, found.get(one, Proof())))
    print(f"\n{len(wanted)} requirements, {proved} proved, {by_api} by a compatibility API")
    for what, ids in wrong.items():
        print(f"{what}: {', '.join(ids)}")
    return 1 if wrong or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
