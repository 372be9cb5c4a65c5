"""The application that `headrace demo` runs: an online shop.

Internal: the API may change without notice.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "demo-shop"


@dataclass(frozen=True, slots=True)
class ShopDay:
    """The number of jobs in each queue, and the customer of each invoice by job id."""

    jobs: dict[str, int]
    customers: dict[str, str]
