"""Every requirement has a test of the engine, and a test of its compatibility API."""

from __future__ import annotations

from tests.requirements import Proof, problems, proofs, required


def test_every_requirement_has_a_test_and_every_mark_a_requirement() -> None:
    wrong = problems(required(), proofs())

    assert {what: ids for what, ids in wrong.items() if ids} == {}
    assert len(required()) > 200


def test_missing_tests_are_reported() -> None:
    wanted = {"T-01": "both", "T-02": "engine", "TD-03": "reason", "T-04": "api", "S-05": "own"}
    found = {
        "T-01": Proof(["a test"], ["a test"]),
        "T-02": Proof(["a test"]),
        "TD-03": Proof(["a test"], not_shown="of keys"),
        "T-04": Proof([], ["a test"], not_shown="but it is"),
        "S-05": Proof(["a test"]),
        "T-99": Proof(["a test"]),
    }

    assert {what: ids for what, ids in problems(wanted, found).items() if ids} == {
        "without a test": ["T-04"],
        "named by a test, but not in docs/requirements": ["T-99"],
        "without a test of the API thoonk": ["T-02"],
        "in not_shown.py, but with a test": ["T-04"],
    }
