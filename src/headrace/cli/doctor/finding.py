"""The result of a check: a verdict, a description and advice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of a check, a description of what was found, and advice.

    The runner adds the name of the check. If the check examined one node, the runner also adds the
    name of the node.
    """

    verdict: str
    found: str
    advice: str = ""
    check: str = ""
    node: str = ""


# A `warning` needs action later or costs performance. A `problem` means that jobs are lost or
# stuck. `not_applicable` is also the result of a check that the user has no permission to run.
ok = partial(Finding, OK)
warning = partial(Finding, WARNING)
problem = partial(Finding, PROBLEM)
not_applicable = partial(Finding, NOT_APPLICABLE)
