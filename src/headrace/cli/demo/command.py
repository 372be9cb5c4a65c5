"""`demo`: the command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headrace
from headrace.cli.server import HERE, Directory
from headrace.cli.show import AsJson

if TYPE_CHECKING:
    from headrace.cli.demo.place import Place
    from headrace.cli.demo.screen import Screen
    from headrace.cli.demo.steps import Demo

FEWEST, MOST = 200, 40_000

NEXT = (
    ("{headrace} failures{where}", "what went wrong, by type"),
    ("{headrace} job {job}{where}", "the life of a job whose worker died"),
    (
        "{headrace} retry --failure CorruptPicture --all --yes{where}",
        "the pictures were uploaded again: one more try",
    ),
    ("{env}{headrace} work headrace.demo.shop:app", "a worker that does it; Ctrl-C ends it"),
    ("{headrace} top{where}", "all of it, live; q ends it"),
    (
        '{headrace} lake sql "select * from failures" --lake {lake}',
        "what happened, in SQL; docs/guides/pipeline.md says what else",
    ),
    ("README.md", "the same with an app of your own, in five minutes"),
    ("{headrace} down{directory}", "stop the server; its data stays"),
)


def demo(
    *,
    jobs: Annotated[
        int, typer.Option("--jobs", min=FEWEST, max=MOST, help="How many jobs, about.")
    ] = 3000,
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """Run a small shop for a minute: jobs, workers, one of them killed, the books, and the history.

    It uses the embedded server, which runs on afterwards so that you can look around, and the
    namespace demo-shop, which is emptied first.
    """
    # Here, because the other commands do not wait for these to be loaded.
    from headrace.cli.demo.place import opened  # noqa: PLC0415
    from headrace.cli.demo.screen import Screen  # noqa: PLC0415
    from headrace.cli.demo.steps import STEPS, Demo  # noqa: PLC0415
    from headrace.cli.demo.workers import hired  # noqa: PLC0415

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    screen = Screen(quiet=as_json)
    with opened(directory) as place, hired(place) as workers:
        os.environ.update(place.environment())
        with headrace.connect(place.url, namespace=place.namespace) as hr:
            played = Demo(hr, place, workers, screen, jobs)
            for step in STEPS:
                step(played)
    if as_json:
        typer.echo(json.dumps(_for_programs(played), default=str))
    else:
        _say_what_next(screen, played)
    if played.interrupted:
        raise typer.Exit(128 + signal.SIGINT)


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


def _for_programs(played: Demo) -> dict[str, Any]:
    return {"url": played.place.url, "namespace": played.place.namespace, **played.found}


def _say_what_next(screen: Screen, played: Demo) -> None:
    place = played.place
    words = {
        "headrace": _headrace(),
        "job": played.held[0],
        "where": f" -n {place.namespace}",
        "lake": str(place.lake),
        "env": "",
        "directory": "",
    }
    if place.directory != HERE:
        words["where"] += f" --url {place.url}"
        words["directory"] = f" --directory {place.directory}"
    changed = {k: v for k, v in place.environment().items() if _must_say(place, k)}
    words["env"] = "".join(f"{name}={value} " for name, value in changed.items())
    rows = [
        (what.format(**words), why)
        for what, why in NEXT
        if "lake" not in what or place.lake.exists()
    ]
    screen.console.print("\n[bold]What to try next[/bold]")
    for what, why in rows:
        screen.console.print(f"  {what}\n      [dim]{why}[/dim]", soft_wrap=True)
    screen.console.print(
        f"\nThe server runs on. Its data, and the log of the workers, are in {place.directory}.",
        soft_wrap=True,
    )


def _must_say(place: Place, name: str) -> bool:
    from headrace.cli.demo.place import NAMESPACE  # noqa: PLC0415

    if name == "HEADRACE_URL":
        return place.directory != HERE
    return place.namespace != NAMESPACE


def _headrace() -> str:
    # Where nobody has activated the environment, the bare name would not be found.
    bare = shutil.which("headrace") or Path(sys.argv[0]).name != "headrace"
    return "headrace" if bare else sys.argv[0]
