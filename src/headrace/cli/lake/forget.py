"""`lake forget`: the server no longer waits for a lake."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.lake.place import DEFAULT, At
from headrace.cli.lake.starting import files_in
from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url, Yes
from headrace.cli.show import AsJson, printable, show
from headrace.cli.words import counted


def forget(
    lake_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Its id, where the lake itself is gone.")
    ] = None,
    *,
    lake: At = DEFAULT,
    yes: Yes = False,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Let the server trim events that the lake has not; the lake itself stays as it is."""
    name = lake_id or _id_of(lake)
    with opened(url, namespace) as client:
        behind = sum(row.behind for row in client.lakes.list() if row.lake == name)
        if behind and not yes:
            question = f"The lake has yet to take {counted(behind, 'event')}. Forget it even so?"
            typer.confirm(question, abort=True, err=True)
        forgotten = client.lakes.forget(name)
    shown = printable(name)
    sentence = (
        f"The server no longer keeps events for lake {shown}."
        if forgotten
        else f"The server did not know lake {shown}."
    )
    show({"lake": name, "forgotten": forgotten, "behind": behind}, sentence, as_json=as_json)


def _id_of(place: str) -> str:
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    with files_in(place) as files:
        return Lake.open(files).identity.id
