"""How much is tried where chance decides what: HEADRACE_LONG=1 tries twenty times as much."""

from __future__ import annotations

import os

EFFORT = 20 if os.environ.get("HEADRACE_LONG") else 1
