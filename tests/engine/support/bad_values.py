"""Invalid values by kind of argument."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import Any

NOT_A_NAME: list[Any] = [
    None,
    5,
    b"mail",
    ["mail"],
    "",
    "a\0b",
    "a\nb",
    "\x7f",
    "\ud800",
    "x" * 10_000,
]
NOT_A_TEXT: list[Any] = [None, 5, b"text", ["text"]]
NOT_A_SPAN: list[Any] = [
    "1",
    True,
    1j,
    -1,
    -0.001,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    10**400,
    10**5000,
    timedelta(seconds=-1),
    timedelta.max,
]
NOT_AN_EVERY: list[Any] = [*NOT_A_SPAN, 0, 0.0004]
NOT_A_ZONE: list[Any] = [None, 5, "", "Mars/Base", "../UTC", "a\0b", ["UTC"], "\ud800"]
NOT_A_CRON: list[Any] = [
    5,
    b"* * * * *",
    "",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * * 13 *",
    "* * * * 8",
    "* * * feb-jan *",
    "*/0 * * * *",
    "1,,2 * * * *",
    "\u0661 * * * *",
    "1" * 5000 + " * * * *",
    "0 0 30 2 *",
    "@never",
]
NOT_A_COUNT: list[Any] = [None, "1", True, 1.0, 0, -1, 10**30, 10**5000, math.nan]
NOT_AN_OFFSET: list[Any] = [None, "1", True, 1.0, -1, 10**30, math.nan]
NOT_A_NUMBER: list[Any] = ["1", True, 1j, math.nan, math.inf, -math.inf, 2**53 + 1, 10**400]
NOT_A_SHARE: list[Any] = [None, "half", True, -0.1, 1.1, math.nan, math.inf, 10**400]
NOT_RETRIES: list[Any] = ["1", True, 1.0, -1, 10**30]
NOT_TAGS: list[Any] = ["vip", b"vip", 5, [5], [""], ["a\nb"], [None], [str(n) for n in range(33)]]
NOT_A_CHOICE: list[Any] = ["", "sideways", 5, ["front"], {}]
NOT_A_LIST: list[Any] = [None, 5, "text", b"text", object()]
NOT_LEASES: list[Any] = [*NOT_A_LIST, [None], ["id"], [5]]
NOT_A_DAY: list[Any] = ["", "yesterday", "2026-13-01", "1969-12-31", 5, math.nan]
NOT_DATA: list[Any] = [object(), {object()}, math.nan, [math.inf], "\ud800", {None: 1}]
NOT_IDS = [name for name in NOT_A_NAME if not isinstance(name, list)]


def described(value: object) -> str:
    """Return a value as part of a test id, the same in every process."""
    try:
        return re.sub(r" at 0x\w+", "", ascii(value))[:24]
    except ValueError:
        return "thousands of digits"


NOT_A_LEASE: list[Any] = [value for value in NOT_A_SPAN if value != math.inf]
NOT_A_MOMENT: list[Any] = [0, 1.5, "2026-01-01", timedelta(1), datetime(2026, 1, 1)]  # noqa: DTZ001
