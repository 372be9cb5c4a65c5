"""The result of a check: a verdict, what was found, and advice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, what was found, and what to do, in one sentence.

    The runner adds the name of the check, and of the node if the check is about one node.
    """

    verdict: str
    found: str
    advice: str = ""
    check: str = ""
    node: str = ""


# Needs no action; needs action later, or costs performance; means lost or stuck jobs; does not
# apply or is not permitted.
ok = partial(Finding, OK)
warning = partial(Finding, WARNING)
problem = partial(Finding, PROBLEM)
not_applicable = partial(Finding, NOT_APPLICABLE)
