"""`work`: run a worker for the tasks of an app."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from headrace.cli import options
from headrace.cli.output import wants_json
from headrace.worker import logs
from headrace.worker.settings import WorkerSettings, read_queues
from headrace.worker.supervisor import Supervisor


@options.command(
    "work shop.tasks:app -q mail,default --processes 2",
    server=False,
    json_help="Write log lines as JSON objects.",
)
@click.argument("app", metavar="MODULE:APP", help="Module and name of the app.")
@click.option(
    "--queues",
    "-q",
    metavar="QUEUES",
    default="",
    help="Queues in order of preference (mail,default) or with weights (mail:3,default:1); "
    "default: the queues of the app's tasks.",
)
@options.number("--processes", default=1, help="Number of processes; default: 1.")
@options.number("--concurrency", "-c", default=16, help="Concurrent jobs per process; default: 16.")
@options.number(
    "--drain",
    least=0.0,
    metavar="SECONDS",
    default=30.0,
    help="Time that running jobs have to finish at shutdown; default: 30.",
)
@options.number("--max-jobs", help="Replace a process after this many jobs.")
@options.number(
    "--max-memory", metavar="MIB", help="Replace a process that uses more memory than this."
)
@options.number(
    "--session",
    "ttl",
    least=0.3,
    metavar="SECONDS",
    default=3.0,
    help="Consider a silent worker dead after this time; default: 3.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log a line for every job.")
@options.port("--metrics-port", help="Serve Prometheus metrics on this port.")
def work(app: str, queues: str, verbose: bool, metrics_port: int | None, **given: Any) -> None:
    """Run a worker for the tasks of an app.

    On the first Ctrl-C or SIGTERM the worker finishes running jobs and returns the others to their
    queues. On the second it returns all jobs and ends.
    """
    served, weighted = read_queues(queues)
    logs.set_up_logging(verbose=verbose, as_json=wants_json())
    settings = WorkerSettings(app=app, queues=served, weighted=weighted, **given)
    if metrics_port is None:
        sys.exit(Supervisor(settings).run())
    from headrace.telemetry.worker_metrics import WorkerMetrics  # noqa: PLC0415 - needs an extra

    with WorkerMetrics(metrics_port) as metrics:
        logs.log_event(logging.INFO, "serving metrics", port=metrics.port)
        sys.exit(Supervisor(settings, metrics).run())
