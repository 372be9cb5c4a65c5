"""A small comparison run in which every target is reached."""

from __future__ import annotations

from typing import Any

from benchmarks.comparison.bench import Effort
from benchmarks.comparison.results import Results, made
from benchmarks.comparison.targets import evaluate

Measurements = dict[str, dict[str, dict[str, list[float]]]]


def found(**changed: Any) -> Measurements:
    """Return the figures of all workloads, with the given workloads replaced."""

    def rates(**by_name: float) -> dict[str, dict[str, list[float]]]:
        costs = {"cpu_us": [20.0, 21.0], "server_us": [30.0, 31.0]}
        return {
            name.replace("_", "-"): {"rate": [rate, rate * 1.1], **costs}
            for name, rate in by_name.items()
        }

    reached: Measurements = {
        "put": rates(headrace=12_000.0, huey=10_000.0, bee_queue=11_000.0),
        "bulk": rates(headrace=60_000.0, ardiq=50_000.0, bullmq=12_000.0, streaq=9_000.0),
        "drain": rates(headrace=30_000.0, celery=800.0, huey=4_000.0, bullmq=9_000.0)
        | rates(bee_queue=20_000.0),
        "drain2": rates(headrace=36_000.0, ardiq=17_000.0, beanstalkd=20_000.0),
        "latency": {
            "headrace": {"p50": [0.9, 0.8], "p99": [1.3, 1.4]},
            "bare BLPOP": {"p50": [0.5, 0.5], "p99": [0.7, 0.7]},
            "huey": {"p50": [1.0, 0.9], "p99": [1.5, 1.6]},
            "beanstalkd": {"p50": [1.0, 0.9], "p99": [1.5, 1.6]},
        },
        "io": rates(headrace=9_100.0, ardiq=6_500.0),
        "cpu": {"headrace": {"rate": [38.0, 37.0]}},
        "bytes": {
            "headrace": {"bytes": [500.0]},
            "headrace, profile task": {"bytes": [300.0]},
            "bullmq": {"bytes": [547.0]},
            "huey": {"bytes": [240.0]},
        },
        "idle": {
            "headrace": {
                "processes": [2],
                "pss_mib": [58.0],
                "rss_mib": [94.0],
                "cpu_percent": [0.2],
            }
        },
        "pop": {
            "headrace": {
                "few_p50": [0.1],
                "few_p99": [0.5],
                "many_p50": [0.1],
                "many_p99": [0.9],
            }
        },
        "kill-process": {"headrace": killed(0, again_s=0.1)},
        "kill": {
            "headrace": killed(0, again_s=2.5),
            "bullmq": killed(0, again_s=60.0),
            "huey": killed(1),
            "beanstalkd": killed(0, again_s=3.0),
        },
    }
    return reached | changed


def killed(lost: int, **times: float) -> dict[str, list[float]]:
    counts = {"lost": [float(lost)], "doubled": [0.0], "in_flight": [16.0]}
    return counts | {name: [seconds] for name, seconds in times.items()}


def results(**changed: Any) -> Results:
    """Return the figures of all workloads as the results of a run."""
    everything = found(**changed)
    missing = {"ardiq": "it needs\nanother Python"}
    return made(Effort(), "valkey 9.0", everything, missing, list(evaluate(everything)))
