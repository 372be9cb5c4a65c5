"""What the dialect cannot show, and why."""

from __future__ import annotations

NOT_SHOWN: dict[str, str] = {}
