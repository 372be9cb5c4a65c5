"""`python -m docs.generate`: writes the documents that are made from the code and from figures.

With --check it writes nothing and fails if one of them is not what it would write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

from docs import figures, reference, sentences
from headrace.engine.events import KINDS, VERSION, Event
from headrace.engine.profile import PROFILES, SETTINGS, Setting, Value
from headrace.engine.states import MOVES, STATES

HERE = Path(__file__).parent
MADE = "<!-- Made from the code by `python -m docs.generate`; change it there. -->"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    names = list(head)
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def states() -> Iterator[str]:
    """docs/states.md."""
    yield from ("# The states of a job", "", MADE, "")
    yield from table(["state", "meaning"], ((f"`{s}`", sentences.STATES[s]) for s in STATES))
    yield from ("", "Then it is gone: cancelled, expired, or no longer kept.", "")
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
    """docs/events.md."""
    yield from ("# Events", "", MADE, "")
    yield sentences.ABOUT_EVENTS.format(version=VERSION)
    yield from ("", "## Fields", "", "`None` means that a field does not apply.", "")
    yield from table(
        ["field", "type", "meaning"],
        ((f"`{f.name}`", f"`{f.type}`", sentences.FIELDS[f.name]) for f in fields(Event)),
    )
    yield from ("", sentences.ABOUT_STREAM)
    yield from ("", "## Kinds", "")
    yield from table(["kind", "meaning"], ((f"`{kind}`", sentences.KINDS[kind]) for kind in KINDS))


def settings() -> Iterator[str]:
    """docs/settings.md."""
    yield from ("# Settings", "", MADE, "")
    yield from (sentences.ABOUT_SETTINGS, "")
    yield from table(
        ["setting", "what", "kind", "default", "of"],
        (
            (f"`{name}`", one.about, _kind(one), shown(one, one.default), _owner(one))
            for name, one in SETTINGS.items()
        ),
    )
    yield from ("", "## Profiles", "")
    yield from (sentences.ABOUT_PROFILES, "")
    yield from table(
        ["profile", "for"], ((f"`{name}`", sentences.PROFILES[name]) for name in PROFILES)
    )
    yield ""
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
    words = " or ".join(setting.choices) or {"flag": "yes or no"}.get(setting.kind, setting.kind)
    return f"{words}, or `None`" if setting.optional else words


def _owner(setting: Setting) -> str:
    return "namespace" if setting.namespace_only else "queue"


def shown(setting: Setting, value: Value) -> str:
    """A value of a setting as people write it."""
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
    "reference.md": lambda: reference.page(MADE),
}


def stale() -> Iterator[tuple[Path, str]]:
    """The documents that are not what they should be, with what they should be."""
    for name, made in PAGES.items():
        path, text = HERE / name, "\n".join(made()) + "\n"
        if not path.exists() or path.read_text() != text:
            yield path, text
    yield from figures.stale()


def _place(path: Path) -> str:
    return path.name if path.parent == figures.ROOT else f"docs/{path.name}"


def main() -> None:
    """Write what is stale, or with --check say so."""
    found = list(stale())
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(inspect.getdoc(sys.modules[__name__]))
    if sys.argv[1:] and found:
        names = ", ".join(_place(path) for path, _ in found)
        sys.exit(f"not what the code says any more: {names}; write them anew with: make docs")
    for path, text in found:
        path.write_text(text)


if __name__ == "__main__":
    main()
