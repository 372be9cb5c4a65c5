"""The application that `headrace demo` runs: an online shop."""

from __future__ import annotations

from dataclasses import dataclass

# The shop uses the namespace in this environment variable, or the default.
NAMESPACE_VARIABLE = "HEADRACE_DEMO"
NAMESPACE = "demo-shop"


@dataclass(frozen=True, slots=True)
class ShopDay:
    """The number of jobs in each queue, the customer of each invoice, and the id of the report."""

    jobs: dict[str, int]
    customers: dict[str, str]
    report: str
