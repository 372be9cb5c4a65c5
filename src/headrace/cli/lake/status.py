"""`lake status` and `lake forget`: show a lake, and make the server forget a lake."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from headrace import LakeShard
from headrace.cli import options, output
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import lag_warnings, lake_option, open_files
from headrace.lake.lake import Lake
from headrace.lake.manifest import LakeSnapshot


@options.command("lake status")
@lake_option
def status(lake: str, server: ServerOptions) -> None:
    """Show the contents of a lake and its lag behind the server.

    Prints a warning if the lag is large. For a local directory, the command does not start Spark.
    """
    with open_files(lake) as files, open_client(server) as client:
        found = Lake.open(files)
        facts = _facts(found, found.snapshot())
        rows = [row for row in client.lakes.list() if row.lake == found.identity.id]
        warnings = lag_warnings(client, rows)
    if not output.print_json({**facts, "shards": rows, "warnings": warnings}):
        _show(facts, rows)
    for warning in warnings:
        output.warn(warning)


def _facts(lake: Lake, snapshot: LakeSnapshot) -> dict[str, Any]:
    last = next(lake.manifests(snapshot.number - 1), None)
    days = snapshot.days
    return {
        "lake": str(lake.files),
        "id": lake.identity.id,
        "namespace": lake.identity.namespace,
        "commits": snapshot.number,
        "committed_at": last and last.at,
        "rows": snapshot.rows,
        "missing": snapshot.missing,
        "files": len(snapshot.files),
        "bytes": sum(file.bytes for file in snapshot.files),
        "first_day": days[0] if days else None,
        "last_day": days[-1] if days else None,
    }


def _show(facts: dict[str, Any], rows: list[LakeShard]) -> None:
    at = facts["committed_at"]
    last = f", the last {output.ago(at, datetime.now(UTC))}" if at else ""
    days = f"{facts['first_day']} to {facts['last_day']}" if facts["first_day"] else None
    output.pairs(
        [
            ("lake", facts["lake"]),
            ("id", facts["id"]),
            ("namespace", facts["namespace"]),
            ("events", f"{facts['rows']:,}"),
            ("missing", f"{facts['missing']:,}" if facts["missing"] else None),
            ("days", days),
            ("files", f"{facts['files']:,}, {output.size(facts['bytes'])}"),
            ("commits", f"{facts['commits']:,}{last}"),
        ]
    )
    if not rows:
        output.say("")
        output.say("The server keeps no events for this lake until the next headrace lake sync.")
        return
    output.heading("On the server")
    columns = ("shard", "behind", "trimmed", "dropped", "entry")
    cells = [
        (row.shard, f"{row.behind:,}", f"{row.trimmed:,}", f"{row.dropped:,}", row.entry)
        for row in rows
    ]
    output.table(columns, cells)


@options.command("lake forget --lake /data/lake")
@click.argument(
    "lake_id", metavar="[ID]", required=False, help="Id of a lake that no longer exists."
)
@lake_option
@options.yes
def forget(lake_id: str | None, lake: str, yes: bool, server: ServerOptions) -> None:
    """Stop keeping events on the server for a lake.

    The files of the lake do not change.
    """
    name = lake_id or _id_of(lake)
    with open_client(server) as client:
        behind = sum(row.behind for row in client.lakes.list() if row.lake == name)
        if behind and not yes:
            question = f"The lake lacks {output.counted(behind, 'event')}. Forget the lake anyway?"
            output.ask(question)
        forgotten = client.lakes.forget(name)
    sentence = (
        f"The server no longer keeps events for lake {name}."
        if forgotten
        else f"The server does not know lake {name}."
    )
    output.show({"lake": name, "forgotten": forgotten, "behind": behind}, sentence)


def _id_of(place: str) -> str:
    with open_files(place) as files:
        return Lake.open(files).identity.id
