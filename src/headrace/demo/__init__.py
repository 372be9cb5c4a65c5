"""The application that `headrace demo` runs: an online shop.

Internal: the API may change without notice.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "demo-shop"


@dataclass(frozen=True, slots=True)
class ShopDay:
    """The jobs of a day: their number in each queue, and the customer for each invoice job's id."""

    jobs: dict[str, int]
    customers: dict[str, str]
