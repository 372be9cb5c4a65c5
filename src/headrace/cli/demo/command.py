"""`demo`: the command."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import headrace
from headrace.cli import options
from headrace.cli.connecting import HERE
from headrace.cli.demo.environment import hired_workers, open_environment
from headrace.cli.demo.run import DemoDisplay, DemoRun
from headrace.cli.demo.steps import STEPS
from headrace.cli.output import print_json, wants_json
from headrace.cli.server import directory_option
from headrace.demo import NAMESPACE, NAMESPACE_VARIABLE

FEWEST, MOST = 200, 40_000

NEXT = (
    ("{headrace} failures{where}", "failed jobs by type"),
    ("{headrace} job {job}{where}", "the history of a job whose worker died"),
    (
        "{headrace} retry --failure CorruptPicture --all --yes{where}",
        "retry the pictures, which were uploaded again",
    ),
    ("{env}{headrace} work headrace.demo.shop:app", "run a worker; stop it with Ctrl-C"),
    ("{headrace} top{where}", "watch everything live; quit with q"),
    (
        '{headrace} lake sql "select * from failures" --lake {lake}',
        "query the history in SQL; see docs/guides/pipeline.md",
    ),
    ("README.md", "build your own app in five minutes"),
    ("{headrace} down{directory}", "stop the server; its data stays"),
)


@options.command("demo", server=False)
@options.number(
    "--jobs",
    least=FEWEST,
    most=MOST,
    default=3000,
    help="Number of jobs, 200 to 40000; default: 3000.",
)
@directory_option
def demo(jobs: int, directory: Path) -> None:
    """Run a small online shop for a minute and kill one of its workers.

    Shows the recovery, the books and the history. Uses the embedded server, which keeps running,
    and the namespace demo-shop, which is emptied first.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit)
    display = DemoDisplay(quiet=wants_json())
    with open_environment(directory) as environment, hired_workers(environment) as workers:
        os.environ.update(environment.variables())
        with headrace.connect(environment.url, namespace=environment.namespace) as hr:
            run = DemoRun(hr, environment, workers, display, jobs)
            for step in STEPS:
                step(run)
    where = {"url": environment.url, "namespace": environment.namespace}
    if not print_json({**where, **run.found}):
        _show_next_steps(display, run)
    if run.interrupted:
        sys.exit(128 + signal.SIGINT)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)


def _show_next_steps(display: DemoDisplay, run: DemoRun) -> None:
    environment = run.environment
    elsewhere = environment.directory != HERE
    # Without an activated environment the shell would not find the bare name.
    bare = shutil.which("headrace") or Path(sys.argv[0]).name != "headrace"
    needed = {
        "HEADRACE_URL": elsewhere,
        NAMESPACE_VARIABLE: environment.namespace != NAMESPACE,
    }
    words = {
        "headrace": "headrace" if bare else sys.argv[0],
        "job": run.held[0] if run.held else "ID",
        "where": f" -n {environment.namespace}" + f" --url {environment.url}" * elsewhere,
        "lake": str(environment.lake),
        "directory": f" --directory {environment.directory}" * elsewhere,
        "env": "".join(
            f"{name}={value} " for name, value in environment.variables().items() if needed[name]
        ),
    }
    display.console.print("\n[bold]What to try next[/bold]")
    for command, meaning in NEXT:
        if "lake" not in command or environment.lake.exists():
            shown = f"  {command.format(**words)}\n      [dim]{meaning}[/dim]"
            display.console.print(shown, soft_wrap=True)
    display.console.print(
        f"\nThe server keeps running. Its data and the log of the workers are in "
        f"{environment.directory}.",
        soft_wrap=True,
    )
