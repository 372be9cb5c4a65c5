"""Generate the reference pages from the code and the performance tables from benchmark results.

`python -m tools.docs.generate` writes the pages that are out of date. With --check it writes
nothing and exits with an error if a page is out of date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

from headrace.engine.events import KINDS, VERSION, Event
from headrace.engine.settings import PROFILES, SETTINGS, Setting, Value
from headrace.engine.states import MOVES, STATES
from tools.docs import api, figures, sentences

FOLDER = figures.ROOT / "docs" / "reference"
GENERATED = "<!-- Generated from the code by `python -m tools.docs.generate`; do not edit. -->"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    names = list(head)
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def states() -> Iterator[str]:
    """Yield the lines of states.md."""
    yield from ("# Job states", "", GENERATED, "")
    yield from (sentences.ABOUT_STATES, "")
    yield from table(["state", "meaning"], ((f"`{s}`", sentences.STATES[s]) for s in STATES))
    yield from ("", sentences.GONE, "")
    yield from ("## Transitions", "")
    yield from ("```mermaid", "stateDiagram-v2", '    state "any state" as any')
    for before, after, how in MOVES:
        yield f"    {_node(before)} --> {_node(after)}: {how}"
    yield from ("```", "")
    yield from table(
        ["from", "to", "by"], ((before or "new", after, how) for before, after, how in MOVES)
    )
    yield from ("", sentences.REFUSED)


def _node(state: str) -> str:
    return {"": "[*]", "gone": "[*]", "any state": "any"}.get(state, state)


def events() -> Iterator[str]:
    """Yield the lines of events.md."""
    yield from ("# Events", "", GENERATED, "")
    yield sentences.ABOUT_EVENTS.format(version=VERSION)
    yield from ("", "## Fields", "", "A field that does not apply is `None`.", "")
    yield from table(
        ["field", "type", "meaning"],
        ((f"`{f.name}`", f"`{f.type}`", sentences.FIELDS[f.name]) for f in fields(Event)),
    )
    yield from ("", sentences.ABOUT_STREAM)
    yield from ("", "## Kinds", "")
    yield from table(["kind", "meaning"], ((f"`{kind}`", sentences.KINDS[kind]) for kind in KINDS))


def settings() -> Iterator[str]:
    """Yield the lines of settings.md."""
    yield from ("# Settings and profiles", "", GENERATED, "")
    yield from (sentences.ABOUT_SETTINGS, "")
    yield from table(
        ["setting", "meaning", "type", "default", "scope"],
        (
            (f"`{name}`", one.about, _kind(one), shown(one, one.default), _scope(one))
            for name, one in SETTINGS.items()
        ),
    )
    yield from ("", "## Profiles", "")
    yield from (sentences.ABOUT_PROFILES, "")
    yield from table(
        ["profile", "use"], ((f"`{name}`", sentences.PROFILES[name]) for name in PROFILES)
    )
    yield from ("", "The profiles differ in these settings:", "")
    changed = {
        name: one for name, one in SETTINGS.items() if any(name in own for own in PROFILES.values())
    }
    yield from table(
        ["", *(f"`{profile}`" for profile in PROFILES)],
        (
            (
                f"`{name}`",
                *(shown(one, own.get(name, one.default)) for own in PROFILES.values()),
            )
            for name, one in changed.items()
        ),
    )


def _kind(setting: Setting) -> str:
    named = {"flag": "yes or no", "span": "duration"}
    words = " or ".join(setting.choices) or named.get(setting.kind, setting.kind)
    return f"{words}, or `None`" if setting.optional else words


def _scope(setting: Setting) -> str:
    return "namespace" if setting.namespace_only else "queue"


def shown(setting: Setting, value: Value) -> str:
    """Format a value of a setting for the page, such as `7 days` or `50,000`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta):
        return f"{value.days} day{'s' if value.days > 1 else ''}"
    if isinstance(value, str):
        return value
    return f"{value} s" if setting.kind == "span" else f"{value:,}"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "states.md": states,
    "events.md": events,
    "settings.md": settings,
    "api.md": lambda: api.page(GENERATED),
}


def stale() -> Iterator[tuple[Path, str]]:
    """Yield each page that is out of date, and the text that the page should have."""
    for name, lines in PAGES.items():
        path, text = FOLDER / name, "\n".join(lines()) + "\n"
        if not path.exists() or path.read_text() != text:
            yield path, text
    yield from figures.stale()


def main() -> None:
    """Write the pages that are out of date, or with --check exit with an error that names them."""
    found = list(stale())
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(inspect.getdoc(sys.modules[__name__]))
    if sys.argv[1:] and found:
        names = ", ".join(path.name for path, _ in found)
        sys.exit(f"generated documents are out of date: {names}; write them with: make docs")
    for path, text in found:
        path.write_text(text)


if __name__ == "__main__":
    main()
