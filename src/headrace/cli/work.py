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
@options.number("--processes", default=1, help="Number of processes.")
@options.number("--concurrency", "-c", default=16, help="Number of concurrent jobs per process.")
@options.number(
    "--drain",
    least=0.0,
    metavar="SECONDS",
    default=30.0,
    help="Time that running jobs have to finish at shutdown.",
)
@options.number("--max-jobs", help="Replace a worker process after this many jobs.")
@options.number(
    "--max-memory", metavar="MIB", help="Replace a worker process that uses more memory than this."
)
@options.number(
    "--session",
    "ttl",
    least=0.3,
    metavar="SECONDS",
    default=3.0,
    help="Consider the worker dead if the server hears nothing from it for this time.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log a line for every job.")
@options.port("--metrics-port", help="Serve Prometheus metrics on this port.")
@options.address("--metrics-address")
def work(
    app: str,
    queues: str,
    verbose: bool,
    metrics_port: int | None,
    metrics_address: str,
    **given: Any,
) -> None:
    """Run a worker for the tasks of an app.

    On the first Ctrl-C or SIGTERM, the worker finishes its running jobs and returns all other jobs
    to their queues. On the second Ctrl-C or SIGTERM, the worker returns the running jobs too and
    exits.
    """
    served, weighted = read_queues(queues)
    logs.set_up_logging(verbose=verbose, as_json=wants_json())
    settings = WorkerSettings(app=app, queues=served, weighted=weighted, **given)
    if metrics_port is None:
        sys.exit(Supervisor(settings).run())
    from headrace.telemetry.worker_metrics import WorkerMetrics  # noqa: PLC0415 - needs an extra

    with WorkerMetrics(metrics_port, metrics_address) as metrics:
        where = {"port": metrics.port, "address": metrics_address}
        logs.log_event(logging.INFO, "serving metrics", **where)
        sys.exit(Supervisor(settings, metrics).run())
