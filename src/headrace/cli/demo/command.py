"""`demo`: run a small online shop and kill one of its workers.

The steps of the demo follow the command, in order. Each step prints a report and stores results.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from rich.markup import escape

import headrace
from headrace.cli import options
from headrace.cli.bulk_changes import exit_on_signal
from headrace.cli.connecting import HERE
from headrace.cli.demo import report
from headrace.cli.demo.environment import QUEUES, WORK, hired_workers, open_environment
from headrace.cli.demo.report import DemoRun
from headrace.cli.output import print_json, progress
from headrace.demo import NAMESPACE
from headrace.errors import HeadraceError

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

WORKERS = 2
LOOK_EVERY = 0.1
# After this share of all jobs has finished, kill a worker that holds at least HOLDS_AT_LEAST jobs.
KILL_AT = 0.3
HOLDS_AT_LEAST = 4
# Fail if no job finishes for this many seconds.
STALL_TIMEOUT = 30.0
SPARK_PACKAGES = ("pyspark", "pyarrow", "pandas", "matplotlib", "plotext")
INSTALL_SPARK = "pip install 'headrace[spark]'"


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
            put_jobs(run)
            start_workers(run)
            work(run)
            kill(run)
            recover(run)
            replace(run)
            finish(run)
            report.show_summary(run)
            keep_history(run)
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


def put_jobs(demo: DemoRun) -> None:
    """Put all jobs of the simulated day."""
    from headrace.demo import day, shop  # noqa: PLC0415 - the app reads the environment on import

    start = time.monotonic()
    try:
        demo.day = day.put_day(demo.jobs)
    finally:
        shop.app.close()
    seconds = time.monotonic() - start
    counts = [queue.counts for queue in demo.look().queues.values()]
    demo.say(
        "put",
        f"[bold]{demo.total:,} jobs[/bold] of an online shop in {seconds:.1f} s:\n"
        + ", ".join(f"{count:,} {queue}" for queue, count in demo.day.jobs.items())
        + f"\n{sum(one.waiting for one in counts):,} waiting, "
        f"{sum(one.scheduled for one in counts):,} scheduled for later, "
        f"{sum(one.blocked for one in counts):,} blocked by other jobs",
    )


def start_workers(demo: DemoRun) -> None:
    """Start workers with `headrace work`, as an operator would."""
    for _ in range(WORKERS):
        demo.workers.start()
    pids = " and ".join(str(worker.process.pid) for worker in demo.workers.started)
    *command, option = WORK
    demo.say(
        "work",
        f"{WORKERS} workers, pids {pids}, each started with\n"
        f"[dim]headrace {' '.join(command)}[/dim]\n[dim]    {option} {QUEUES}[/dim]",
    )


def work(demo: DemoRun) -> None:
    """Wait until a busy worker can be killed, or all jobs are finished."""

    def is_time() -> bool:
        done = demo.finished
        busiest = max(map(demo.held_by, demo.workers.started))
        return done == demo.total or (done >= KILL_AT * demo.total and busiest >= HOLDS_AT_LEAST)

    _watch(demo, is_time)


def kill(demo: DemoRun) -> None:
    """Kill the busiest worker and count the jobs that the worker held."""
    dead = demo.dead = max(reversed(demo.workers.started), key=demo.held_by)
    demo.died_at = datetime.now(UTC)
    dead.kill()
    running = [
        job
        for queue in demo.day.jobs
        for job in demo.hr.queue(queue).jobs("running", count=1000).jobs
        if dead.is_named(job.worker)
    ]
    demo.held = [job.id for job in running]
    queues = Counter(job.queue for job in running)
    demo.found["kill"] = {"pid": dead.process.pid, "at": demo.died_at, "held": demo.held}
    demo.say(
        "kill -9",
        f"[red]worker {dead.number}, pid {dead.process.pid}[/red], after "
        f"{demo.finished:,} finished jobs;\nthe worker held {len(running)} jobs: "
        + ", ".join(f"{count} {queue}" for queue, count in queues.most_common()),
    )


def recover(demo: DemoRun) -> None:
    """Wait until the other worker has started the jobs of the killed worker."""
    dead, waiting = demo.dead, set(demo.held)

    def all_started() -> bool:
        waiting.difference_update(
            job.id
            for job in demo.hr.jobs(sorted(waiting))
            if job.state != "waiting" and not dead.is_named(job.worker)
        )
        return not waiting

    _watch(demo, all_started)
    again = report.recoveries(demo.hr.events(), demo.held, demo.died_at)
    times = [one.again_after for one in again]
    between = f"from {min(times):.1f} to {max(times):.1f}" if times else "0"
    demo.say(
        "recover",
        f"[green]{len(again)} of {len(demo.held)} jobs[/green] were handed to another worker\n"
        f"{between} s after the kill",
    )
    report.show_recoveries(demo, again)


def replace(demo: DemoRun) -> None:
    """Start another worker in place of the killed worker, as a service manager would."""
    worker = demo.workers.start()
    demo.say(
        "replace", f"worker {worker.number}, pid {worker.process.pid}, replaces the killed worker"
    )


def finish(demo: DemoRun) -> None:
    """Wait until all jobs are finished, then stop the workers."""

    def all_finished() -> bool:
        # A worker that gets SIGTERM before it has a session does not exit with code 0.
        names = [worker.name for worker in demo.hr.workers.list()]
        living = [one for one in demo.workers.started if one.process.poll() is None]
        ready = all(any(map(one.is_named, names)) for one in living)
        return ready and demo.finished == demo.total

    _watch(demo, all_finished)
    demo.workers.end()
    codes = [worker.process.returncode for worker in demo.workers.started if worker != demo.dead]
    demo.say(
        "drain",
        f"all {demo.total:,} jobs are finished;\nafter SIGTERM the workers exited with "
        + " and ".join(map(str, codes)),
    )


def keep_history(demo: DemoRun) -> None:
    """Copy the events into a lake and query the lake.

    Ctrl-C ends this step early; the server keeps running.
    """
    if not all(find_spec(package) is not None for package in SPARK_PACKAGES):
        demo.found["history"] = {"needs": INSTALL_SPARK}
        demo.say(
            "lake",
            "to see the history as Parquet files, tables, SQL and a plot, run\n"
            f"[bold]{escape(INSTALL_SPARK)}[/bold], then the demo again",
        )
        return
    from headrace.cli.demo import history  # noqa: PLC0415 - needs pyspark

    try:
        history.keep(demo)
    except KeyboardInterrupt:
        demo.interrupted = True
        demo.say("lake", "stopped early; [dim]headrace lake sync[/dim] continues the copy")


def _watch(demo: DemoRun, is_over: Callable[[], bool]) -> None:
    """Show the progress until a condition holds.

    Raises HeadraceError if no job finishes for 30 seconds.
    """
    moved_at, done = time.monotonic(), 0
    with progress("finished", demo.total) as advance:
        while True:
            demo.look()
            if is_over():
                return
            if more := demo.finished - done:
                moved_at, done = time.monotonic(), demo.finished
                advance(more)
            elif time.monotonic() - moved_at > STALL_TIMEOUT:
                raise HeadraceError(
                    f"no job has finished for {STALL_TIMEOUT:.0f} s; see {demo.workers.log}"
                )
            time.sleep(LOOK_EVERY)
