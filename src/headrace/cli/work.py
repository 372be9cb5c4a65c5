"""`work`: run the tasks of an app."""

from __future__ import annotations

import logging
from typing import Annotated

import typer


def work(
    app: Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where the app is.")],
    *,
    queues: Annotated[
        str,
        typer.Option(
            "--queues",
            "-q",
            help="Queues in the order they are served (mail,default), or with weights "
            "(mail:3,default:1). Without, those of the app's tasks.",
        ),
    ] = "",
    processes: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, help="Jobs at once in each process.")
    ] = 16,
    drain: Annotated[
        float, typer.Option(min=0, help="Seconds that running jobs have to end when told to stop.")
    ] = 30.0,
    max_jobs: Annotated[
        int | None, typer.Option(min=1, help="Replace a process after so many jobs.")
    ] = None,
    max_memory: Annotated[
        int | None, typer.Option(min=1, help="Replace a process that has so many MiB.")
    ] = None,
    session: Annotated[
        float, typer.Option(min=0.3, help="Seconds after which a silent worker is dead.")
    ] = 3.0,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for every job.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Log lines as JSON objects.")] = False,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve Prometheus metrics there.")
    ] = None,
) -> None:
    """Run the tasks of an app: pop jobs, call what they name, say what became of them.

    Ctrl-C or SIGTERM once: what runs may end, the rest is given back. Twice: all is given back.
    """
    from headrace.worker import logs  # noqa: PLC0415 - only a worker needs these
    from headrace.worker.settings import WorkerSettings, read_queues  # noqa: PLC0415
    from headrace.worker.supervisor import Supervisor  # noqa: PLC0415

    served, weighted = read_queues(queues)
    logs.set_up_logging(verbose=verbose, as_json=as_json)
    settings = WorkerSettings(
        app=app,
        queues=served,
        weighted=weighted,
        processes=processes,
        concurrency=concurrency,
        drain=drain,
        ttl=session,
        max_jobs=max_jobs,
        max_memory=max_memory,
    )
    if metrics_port is None:
        raise typer.Exit(Supervisor(settings).run())
    from headrace.telemetry.worker_metrics import WorkerMetrics  # noqa: PLC0415 - of an extra

    with WorkerMetrics(metrics_port) as metrics:
        logs.log_event(logging.INFO, "serving metrics", port=metrics.port)
        raise typer.Exit(Supervisor(settings, metrics).run())
