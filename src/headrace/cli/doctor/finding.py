"""What a check has found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says: its verdict, what was found, and what to do in one sentence."""

    verdict: str
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, with the name of its check and the node that was looked at, if one was."""

    check: str
    node: str
    verdict: str
    found: str
    advice: str


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(OK, found)


def warning(found: str, advice: str) -> Finding:
    """It works, but not for ever or not as well as it could."""
    return Finding(WARNING, found, advice)


def problem(found: str, advice: str) -> Finding:
    """Jobs are or may be lost, or held up."""
    return Finding(PROBLEM, found, advice)


def not_applicable(found: str, advice: str = "") -> Finding:
    """There is nothing to look at, or it may not be looked at."""
    return Finding(NOT_APPLICABLE, found, advice)
