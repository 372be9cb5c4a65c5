"""Puts jobs through a module that knows how: `fill` as fast as it can, `pace` one every 20 ms.

python -m benchmarks.rivals.producer benchmarks.rivals.huey_app fill 20000
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

EVERY = 0.02
WARM_UP = 25
PATIENCE = 30.0


def pace(put: Any, count: int) -> None:
    """Call put(time) at a steady pace, once the worker has shown that it is there."""
    put(0.0)
    wait_for(Path(os.environ["BENCH_TOLD"]).with_suffix(".ready"))
    begun = time.monotonic()
    for number in range(WARM_UP + count):
        time.sleep(max(0.0, begun + number * EVERY - time.monotonic()))
        put(time.monotonic() if number >= WARM_UP else 0.0)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit("the worker began no job")
        time.sleep(0.01)


def main() -> None:
    # The module is imported, not run: its tasks bear its name, as they do in the worker.
    module: Any = importlib.import_module(sys.argv[1])
    how, count = sys.argv[2], int(sys.argv[3])
    if how == "pace":
        pace(module.put, count)
    else:
        getattr(module, how)(count)


if __name__ == "__main__":
    main()
