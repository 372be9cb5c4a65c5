"""Every line of the requirements that comes from qless is shown in its own words."""

from __future__ import annotations

from tests.dialects.qless.not_shown import NOT_SHOWN
from tests.requirements import proofs, required

HERE = "tests/dialects/qless/"


def test_every_id_has_a_test_of_the_dialect_or_a_reason_why_not() -> None:
    wanted = {one for one in required() if one.startswith("Q")}
    shown = {one for one, tests in proofs().items() if any(HERE in test for test in tests)}

    assert wanted - shown == set(NOT_SHOWN)
