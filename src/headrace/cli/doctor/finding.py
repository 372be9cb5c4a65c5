"""The result of a check: a verdict, what was found, and advice."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, what was found, and what to do, in one sentence."""

    verdict: str
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A finding with the name of its check and of the node, if the check is about one node."""

    check: str
    node: str
    verdict: str
    found: str
    advice: str


def ok(found: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(OK, found)


def warning(found: str, advice: str) -> Finding:
    """Return a finding that needs action later, or that costs performance."""
    return Finding(WARNING, found, advice)


def problem(found: str, advice: str) -> Finding:
    """Return a finding that means lost or stuck jobs."""
    return Finding(PROBLEM, found, advice)


def not_applicable(found: str, advice: str = "") -> Finding:
    """Return a finding for a check that does not apply or is not permitted."""
    return Finding(NOT_APPLICABLE, found, advice)
