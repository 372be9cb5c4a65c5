"""A small vectorised function, and a task that calls it for one row."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd

import headrace

QUEUE = "score"
app = headrace.App(
    os.environ.get("BENCH_NAMESPACE", "scoring"), url=os.environ.get("BENCH_URL") or None
)


def score(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how unusual an amount is for its customer, between 0 and 1."""
    scaled = np.log1p(frame["data.cents"].clip(lower=0)) / np.log1p(20_000)
    weight = 1 + (frame["data.customer"] % 7) / 10
    return pd.DataFrame({"score": (scaled * weight).clip(0, 1).round(4)})


@app.task(queue=QUEUE)
def score_one(customer: int, cents: int) -> float:
    """Call the same function with one row."""
    frame = pd.DataFrame({"data.customer": [customer], "data.cents": [cents]})
    return float(score(frame)["score"].iloc[0])
