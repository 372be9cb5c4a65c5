"""Benchmark tables in README.md and docs/internals/performance.md, from the newest results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks import cost_report
from benchmarks.comparison import report, results
from benchmarks.comparison.results import Results
from benchmarks.scale import report as scale

ROOT = Path(__file__).parent.parent.parent
BEGIN = (
    "<!-- Generated from benchmarks/results by `python -m tools.docs.generate`; do not edit. -->"
)
BEGIN_SCALE = "<!-- Generated in the same way from the scaling results. -->"
BEGIN_COSTS = "<!-- Generated in the same way from the costs. -->"
END = "<!-- End of the generated text. -->"


def field(found: Results) -> Iterator[str]:
    """Yield the chart and the tables of the comparison."""
    yield from (*report.about(found), "")
    yield from (f"![comparison](../../benchmarks/results/{found.day}.png)", "")
    yield from report.markdown(found)


def summary(found: Results) -> Iterator[str]:
    """Yield the summary of the comparison for README.md."""
    machine = found.machine
    yield (
        f"Throughput and latency, measured on {found.day} with {machine['cores']} cores and "
        f"{machine['server']}. [Performance](docs/internals/performance.md) describes the method "
        "and lists all competitors."
    )
    yield ""
    yield from report.summary(found).for_markdown()
    yield ""


SECTIONS: dict[str, Callable[[Results], Iterator[str]]] = {
    "docs/internals/performance.md": field,
    "README.md": summary,
}
SCALE_IN = COSTS_IN = "docs/internals/performance.md"


def stale(root: Path = ROOT, place: Path = results.PLACE) -> Iterator[tuple[Path, str]]:
    """Yield each page that lacks the newest results, and the text that the page should have."""
    newest = results.newest(place)
    if newest is None:
        return
    found = results.read(newest)
    for name, made in SECTIONS.items():
        path = root / name
        text = path.read_text()
        wanted = replaced(text, BEGIN, made(found))
        shards = scale.newest(place)
        if shards is not None and name == SCALE_IN:
            wanted = replaced(wanted, BEGIN_SCALE, scale.markdown(shards))
        costs = cost_report.newest(place)
        if costs is not None and name == COSTS_IN:
            wanted = replaced(wanted, BEGIN_COSTS, cost_report.markdown(costs))
        if text != wanted:
            yield path, wanted


def replaced(text: str, mark: str, lines: Iterable[str]) -> str:
    """Replace the lines between a mark and the end of the generated text."""
    before, begin, rest = text.partition(mark)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"the page has no place for the tables; add the lines {mark!r} and {END!r}"
        )
    made = "\n".join(lines)
    return f"{before}{mark}\n\n{made}\n{END}{after}"
