"""The header of an operation declares exactly the refusals that the operation can return."""

from __future__ import annotations

import re

import pytest

from headrace.engine.call import job_refusal
from headrace.engine.script import operations, source
from headrace.errors import JobNotFound
from tests.engine.support.lua_files import reached

CODE = re.compile(r"'([A-Z]+(?:_[A-Z]+)+|DONE)\b")
NOT_OF_A_JOB = {
    *("SESSION_ENDED", "SESSION_REQUIRED", "QUEUE_NOT_FOUND", "DONE", "NOT_FOUND"),
    "NOT_AS_SEEN",
    "HAS_DEPENDENTS",
    *("LAKE_AHEAD", "NOT_THIS_LOG", "TOO_MANY_LAKES"),
    *("ALREADY_COMMITTED", "WRITE_ABORTED", "NOT_COMMITTED", "STAGED_LOST"),
}
SAID = {"TOO_MANY": "tags 32"}
OF_A_FEED = {"FEED_EXISTS", "FEED_NOT_FOUND", "ITEM_NOT_FOUND"}


@pytest.mark.parametrize("op", operations())
def test_a_header_declares_what_its_operation_refuses(op: str) -> None:
    header = source(f"ops/{op}")
    declared = set(header.errors)

    assert set(CODE.findall(header.text)) <= declared | {"DONE"}
    assert declared <= set(CODE.findall(reached(op)))


def test_every_declared_refusal_of_a_job_is_an_error_of_its_own() -> None:
    codes = (
        {code for op in operations() for code in source(f"ops/{op}").errors}
        - NOT_OF_A_JOB
        - OF_A_FEED
    )

    errors = [job_refusal("a", f"{code} {SAID.get(code, 'running w')}".encode()) for code in codes]

    assert JobNotFound not in map(type, errors)
    assert len({str(error) for error in errors}) == len(codes) == 6
