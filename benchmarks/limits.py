"""Compare pops from a queue with limits on 10,000 keys with pops from a plain queue.

python -m benchmarks.limits [--keys 10000] [--pops 5000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import headrace
from headrace.local_server.scratch import private_server

RESULTS = Path(__file__).parent / "results"
ROUND = 250
BOUND = 2.0


def main() -> int:
    """Measure, print and store the figures; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--pops", type=int, default=5000)
    arguments = parser.parse_args()
    with private_server() as url, headrace.connect(url, namespace="bench") as hr:
        cases = prepared(hr, arguments.keys, arguments.pops)
        times: dict[str, list[float]] = {name: [] for name in cases}
        for first in range(0, arguments.pops, ROUND):
            shown = f"\r{first} of {arguments.pops} pops"
            print(shown, end="", file=sys.stderr, flush=True)
            for name, pops in cases.items():
                times[name] += [next(pops) for _ in range(ROUND)]
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    figures = {name: percentiles(found) for name, found in times.items()}
    plain = figures["plain"]["p99"]
    ratios = {name: found["p99"] / plain for name, found in figures.items()}
    for name, found in figures.items():
        print(
            f"{name:24} p50 {found['p50']:7.1f} us   p99 {found['p99']:7.1f} us   "
            f"p99 / plain {ratios[name]:.2f}"
        )
    write(arguments, figures, ratios)
    return int(max(ratios.values()) > BOUND)


def prepared(hr: headrace.Client, keys: int, pops: int) -> dict[str, Iterator[float]]:
    """Create queues with enough jobs for all pops; return each queue's iterator of pop times."""
    plain, limited, fair = (hr.queue(name) for name in ("plain", "limited", "fair"))
    limited.configure(key_concurrency=1, key_rate="1000/s", concurrency=10**6)
    fair.configure(fair=True, key_concurrency=2)
    plain.put_many([0] * (pops + 20_000))
    each = -(-(pops + 20_000) // keys)
    for queue in (limited, fair):
        queue.put_many(
            [headrace.Put(0, key=f"customer-{key}") for _ in range(each) for key in range(keys)]
        )
    # Bring half of the keys to their limit, so that their other jobs must wait.
    held: list[headrace.Lease] = []
    while len(held) < keys // 2:
        held += limited.pop("holder", count=500, lease=3600)
    return {
        "plain": timed(plain),
        "10,000 keys, limits": timed(limited),
        "10,000 keys, fair turns": timed(fair),
    }


def timed(queue: headrace.Queue) -> Iterator[float]:
    """Yield the microseconds of consecutive pops; popped jobs are completed in between."""
    while True:
        started = time.perf_counter()
        [lease] = queue.pop("worker")
        seconds = time.perf_counter() - started
        lease.complete()
        yield seconds * 1e6


def percentiles(found: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(found, n=100)
    return {"p50": round(cuts[49], 1), "p99": round(cuts[98], 1)}


def write(
    arguments: argparse.Namespace, figures: dict[str, dict[str, float]], ratios: dict[str, float]
) -> None:
    now = datetime.now(UTC)
    found = {
        "at": now.isoformat(timespec="seconds"),
        "keys": arguments.keys,
        "pops": arguments.pops,
        "microseconds": figures,
        "p99_ratio": {name: round(ratio, 2) for name, ratio in ratios.items()},
        "bound": BOUND,
    }
    path = RESULTS / f"limits-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
