"""Whether lakes are so far behind that events may be dropped before they have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.words import counted

if TYPE_CHECKING:
    from headrace import Client, LakeShard

# Of what a shard keeps at most.
MUCH = 0.5


def lagging(client: Client, rows: Sequence[LakeShard]) -> list[str]:
    """A warning for each lake that lags on a shard, and for what was dropped."""
    kept = int(client.config.get("events_count"))
    most = max(kept, int(client.config.get("events_cap")))
    found = []
    for row in rows:
        where = f"lake {row.lake} is {counted(row.behind, 'event')} behind on shard {row.shard}"
        if row.behind > MUCH * most:
            found.append(f"{where}: above {most:,} they are dropped; headrace lake sync")
        elif row.behind > kept:
            found.append(f"{where}, more than events_count: headrace lake sync, or lake forget")
    dropped = {row.shard: row.dropped for row in rows if row.dropped}
    found += [
        f"{counted(many, 'event')} of shard {shard} were dropped before every lake had them"
        for shard, many in dropped.items()
    ]
    return found
