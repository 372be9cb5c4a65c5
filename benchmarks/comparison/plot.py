"""A plot of the results: one bar per competitor, Headrace in colour, on logarithmic scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.comparison.competitors import BASELINES, HEADRACE
from benchmarks.comparison.results import Results

# Titles of the plotted workloads.
RATES = {
    "put": "put one at a time, jobs/s",
    "bulk": "put in bulk, jobs/s",
    "drain": "drain, one process, jobs/s",
    "drain2": "drain, two processes, jobs/s",
    "io": "jobs that wait 10 ms, 100 at once, jobs/s",
}
LATENCY = "latency from put to start, idle worker, p50 and p99, ms"
# All rates use the same axis limits, so that bars are comparable. Labels need room on the right.
RATE_LIMITS, LATENCY_LIMITS = (10, 300_000), (0.1, 5_000)

HEADRACE_COLOUR, BASELINE_COLOUR, COMPETITOR_COLOUR = "#1f6f8b", "#9aa5ab", "#cfd6da"
INK = "#2b3338"
STYLE: Any = {"font.size": 9, "text.color": INK, "xtick.color": INK, "ytick.color": INK}


def draw(results: Results, path: Path) -> None:
    """Write the plot as a PNG file."""
    machine = results.machine
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, 12), layout="constrained")
        *rates, latency = figure.subplots(3, 2).flat
        for axes, workload in zip(rates, RATES, strict=True):
            draw_rates(axes, results, workload)
        draw_latency(latency, results)
        figure.suptitle(
            f"{results.day}, {machine['cores']} cores, {machine['server']}, "
            f"Python {machine['python']}; medians, logarithmic scales",
            fontsize=10,
        )
        figure.savefig(path, dpi=110, metadata={"Software": None})


def draw_rates(axes: Any, results: Results, workload: str) -> None:
    found = medians(results, workload, "rate")
    # The best competitor is at the top, at the end of the axis.
    names = sorted(found, key=lambda name: found[name])
    bars = axes.barh(names, [found[name] for name in names], color=[colour(n) for n in names])
    axes.bar_label(bars, [f"{found[name]:,.0f}" for name in names], padding=3)
    finish(axes, RATES[workload], RATE_LIMITS)


def draw_latency(axes: Any, results: Results) -> None:
    """Draw a bar up to p50 and a line from there to p99."""
    found, tails = medians(results, "latency", "p50"), medians(results, "latency", "p99")
    names = sorted(found, key=lambda name: found[name], reverse=True)
    axes.barh(names, [found[name] for name in names], color=[colour(n) for n in names])
    for name in names:
        axes.plot([found[name], tails[name]], [name, name], color=INK, linewidth=1)
        axes.annotate(
            f"{found[name]:.2f}, {tails[name]:.2f}",
            (tails[name], name),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    finish(axes, LATENCY, LATENCY_LIMITS)


def medians(results: Results, workload: str, figure: str) -> dict[str, float]:
    return {name: results.median(workload, name, figure) or 0.0 for name in results.names(workload)}


def finish(axes: Any, title: str, limits: tuple[float, float]) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == HEADRACE.name else "normal")


def colour(name: str) -> str:
    baselines = dict.fromkeys((baseline.name for baseline in BASELINES), BASELINE_COLOUR)
    return {HEADRACE.name: HEADRACE_COLOUR, **baselines}.get(name, COMPETITOR_COLOUR)
