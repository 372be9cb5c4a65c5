"""The commands of `headrace lake`, listed here."""

from __future__ import annotations

from collections.abc import Callable

import typer

from headrace.cli.lake import compact, forget, plot, replay, rollup, sql, status, sync

lake = typer.Typer(no_args_is_help=True, help="Keep the history of jobs as Parquet files.")

# Each command with an example.
COMMANDS: dict[Callable[..., None], str] = {
    sync.sync: "headrace lake sync --to /data/lake --follow",
    status.status: "headrace lake status",
    compact.compact: "headrace lake compact",
    rollup.rollup: "headrace lake rollup",
    sql.sql: "headrace lake sql \"select queue, day, wait_p99 from daily where by = 'all'\"",
    plot.plot: "headrace lake plot --to history.png",
    replay.replay: (
        "headrace lake replay --where \"queue = 'resize' and failure_type = 'Timeout'\" "
        "--into retry-queue"
    ),
    forget.forget: "headrace lake forget --lake /data/lake",
}

for command, example in COMMANDS.items():
    lake.command(epilog=f"Example: {example}")(command)
