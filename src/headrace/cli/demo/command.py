"""The command `demo`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import headrace
from headrace.cli import options
from headrace.cli.changing import exit_on_signal
from headrace.cli.connecting import HERE
from headrace.cli.demo.environment import hired_workers, open_environment
from headrace.cli.demo.report import DemoRun
from headrace.cli.demo.steps import STEPS
from headrace.cli.output import print_json
from headrace.demo import NAMESPACE

NEXT = (
    ("{headrace} failures -n demo-shop", "list failed jobs by type"),
    ("{headrace} job {job} -n demo-shop", "show the history of a job whose worker died"),
    (
        "{headrace} retry --failure CorruptPicture --all --yes -n demo-shop",
        "retry the jobs of corrupt pictures",
    ),
    ("{headrace} work headrace.demo.shop:app", "run a worker; stop it with Ctrl-C"),
    ("{headrace} top -n demo-shop", "watch everything live; quit with q"),
    (
        '{headrace} lake sql "select * from failures" --lake {lake}',
        "query the history in SQL; see docs/guides/pipeline.md",
    ),
    ("README.md", "build your own app in five minutes"),
    ("{headrace} down", "stop the server and keep its data"),
)


@options.command("demo", server=False)
@options.number(
    "--jobs", least=200, most=40_000, default=3000, help="Number of jobs, 200 to 40000."
)
def demo(jobs: int) -> None:
    """Run a small online shop and kill one of its workers.

    The demo takes about a minute. The demo shows how another worker runs the jobs of the killed
    worker. At the end, the demo checks the counters (books) of the queues and queries the history
    of the jobs. The demo uses the embedded server and first deletes all jobs of the namespace
    demo-shop. After the demo, the server keeps running.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, exit_on_signal)
    with open_environment(HERE) as environment, hired_workers(environment) as workers:
        os.environ["HEADRACE_URL"] = environment.url
        with headrace.connect(environment.url, namespace=NAMESPACE) as hr:
            run = DemoRun(hr, environment, workers, jobs)
            for step in STEPS:
                step(run)
    if not print_json({"url": environment.url, "namespace": NAMESPACE, **run.found}):
        _show_next_steps(run)
    if run.interrupted:
        sys.exit(128 + signal.SIGINT)


def _show_next_steps(run: DemoRun) -> None:
    lake = run.environment.lake
    # Outside an activated virtual environment, the shell would not find the bare command name.
    bare = shutil.which("headrace") or Path(sys.argv[0]).name != "headrace"
    words = {
        "headrace": "headrace" if bare else sys.argv[0],
        "job": run.held[0] if run.held else "ID",
        "lake": lake,
    }
    run.console.print("\n[bold]What to try next[/bold]")
    for command, meaning in NEXT:
        if "lake" not in command or lake.exists():
            shown = f"  {command.format(**words)}\n      [dim]{meaning}[/dim]"
            run.console.print(shown, soft_wrap=True)
    run.console.print(
        f"\nThe server keeps running. Its data and the log of the workers are in {HERE}."
    )
