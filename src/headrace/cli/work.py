"""`work`: run a worker for the tasks of an app."""

from __future__ import annotations

import logging
import sys

import click

from headrace.worker import logs
from headrace.worker.settings import WorkerSettings, read_queues
from headrace.worker.supervisor import Supervisor


@click.command(epilog="Example: headrace work shop.tasks:app -q mail,default --processes 2")
@click.argument("app", metavar="MODULE:APP", help="Module and name of the app.")
@click.option(
    "--queues",
    "-q",
    metavar="QUEUES",
    default="",
    help="Queues in order of preference (mail,default) or with weights (mail:3,default:1); "
    "default: the queues of the app's tasks.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=1,
    help="Number of processes; default: 1.",
)
@click.option(
    "--concurrency",
    "-c",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=16,
    help="Concurrent jobs per process; default: 16.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    metavar="SECONDS",
    default=30.0,
    help="Time that running jobs have to finish at shutdown; default: 30.",
)
@click.option(
    "--max-jobs",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Replace a process after this many jobs.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(1),
    metavar="MIB",
    help="Replace a process that uses more memory than this.",
)
@click.option(
    "--session",
    type=click.FloatRange(0.3),
    metavar="SECONDS",
    default=3.0,
    help="Consider a silent worker dead after this time; default: 3.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log a line for every job.")
@click.option("--json", "as_json", is_flag=True, help="Write log lines as JSON objects.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve Prometheus metrics on this port.",
)
def work(
    app: str,
    queues: str,
    processes: int,
    concurrency: int,
    drain: float,
    max_jobs: int | None,
    max_memory: int | None,
    session: float,
    verbose: bool,
    as_json: bool,
    metrics_port: int | None,
) -> None:
    """Run a worker for the tasks of an app.

    On the first Ctrl-C or SIGTERM the worker finishes running jobs and returns the others to their
    queues. On the second it returns all jobs and ends.
    """
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
        sys.exit(Supervisor(settings).run())
    from headrace.telemetry.worker_metrics import WorkerMetrics  # noqa: PLC0415 - needs an extra

    with WorkerMetrics(metrics_port) as metrics:
        logs.log_event(logging.INFO, "serving metrics", port=metrics.port)
        sys.exit(Supervisor(settings, metrics).run())
