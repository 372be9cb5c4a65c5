"""Every requirement has a test that proves it."""

from __future__ import annotations

from tests.requirements import proofs, required


def test_every_requirement_is_proved_and_every_proof_is_of_a_requirement() -> None:
    assert set(proofs()) == set(required())
    assert len(required()) > 200
