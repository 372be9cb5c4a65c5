"""Every requirement has a test that proves it, and one in the words of the document it is from."""

from __future__ import annotations

from tests.requirements import Proof, problems, proofs, required


def test_every_requirement_is_proved_and_every_proof_is_of_a_requirement() -> None:
    wrong = problems(required(), proofs())

    assert {what: ids for what, ids in wrong.items() if ids} == {}
    assert len(required()) > 200


def test_what_is_missing_is_named() -> None:
    wanted = {"T-01": "both", "T-02": "engine", "TD-03": "reason", "T-04": "dialect", "S-05": "own"}
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
        "tests name ids that docs/requirements does not": ["T-99"],
        "without a test in the words of thoonk": ["T-02"],
        "said not to be shown, but shown": ["T-04"],
    }
