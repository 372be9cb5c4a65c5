"""The figures in the documents: from the newest results that were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.comparison import report, results
from benchmarks.comparison.results import Results
from benchmarks.scale import report as scale

ROOT = Path(__file__).parent.parent
BEGIN = "<!-- From here on made from benchmarks/results by `python -m docs.generate`. -->"
BEGIN_SCALE = "<!-- The same, of more shards. -->"
END = "<!-- Until here. -->"


def field(found: Results) -> Iterator[str]:
    """The tables and the picture."""
    yield from (*report.about(found), "")
    yield from (f"![comparison](../benchmarks/results/{found.day}.png)", "")
    yield from report.markdown(found)


def summary(found: Results) -> Iterator[str]:
    """What it comes to, in a few lines."""
    machine = found.machine
    yield (
        f"Throughput and latency, measured on {found.day} with {machine['cores']} cores "
        f"and {machine['server']}; "
        "[performance](docs/performance.md) describes the method and lists all competitors."
    )
    yield ""
    yield from report.summary(found).for_markdown()
    yield ""


SECTIONS: dict[str, Callable[[Results], Iterator[str]]] = {
    "docs/performance.md": field,
    "README.md": summary,
}
SCALE_IN = "docs/performance.md"


def stale(root: Path = ROOT, place: Path = results.PLACE) -> Iterator[tuple[Path, str]]:
    """The documents whose figures are not those of the newest results, with what they should be."""
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
        if text != wanted:
            yield path, wanted


def replaced(text: str, mark: str, lines: Iterable[str]) -> str:
    """The text with these lines between a mark and the end of what is made."""
    before, begin, rest = text.partition(mark)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no place for figures: {mark}")
    made = "\n".join(lines)
    return f"{before}{mark}\n\n{made}\n{END}{after}"
