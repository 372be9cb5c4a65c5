"""The steps of the demo, in order. Each says what it does and notes what it found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from headrace.cli.demo import closing, findings, history
from headrace.cli.demo.place import Place
from headrace.cli.demo.screen import Progress, Screen
from headrace.cli.demo.workers import WorkerProgram, Workers, arguments
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace import Client
    from headrace.demo.day import Day

WORKERS = 2
LOOK_EVERY = 0.1
BEFORE_ALL = datetime(1970, 1, 1, tzinfo=UTC)
# One is killed when so much is done.
KILL_AT = 0.3
HOLDS_AT_LEAST = 4
# So long nothing may happen.
PATIENCE = 30.0


@dataclass(slots=True)
class Demo:
    """What the steps share."""

    hr: Client
    place: Place
    workers: Workers
    screen: Screen
    jobs: int
    began: float = field(default_factory=time.monotonic)
    progress: Progress = field(default_factory=lambda: Progress({}))
    found: dict[str, Any] = field(default_factory=dict)
    day: Day | None = None
    dead: WorkerProgram | None = None
    died_at: datetime = BEFORE_ALL
    held: list[str] = field(default_factory=list)
    interrupted: bool = False


def put_jobs(demo: Demo) -> None:
    """A day of a shop, as jobs."""
    from headrace.demo import day, shop  # noqa: PLC0415 - it reads where it is when it is loaded

    began = time.monotonic()
    try:
        demo.day = day.put_day(demo.jobs)
    finally:
        shop.app.close()
    seconds = time.monotonic() - began
    counts = demo.hr.queues()
    total = sum(demo.day.jobs.values())
    demo.found["put"] = {"jobs": demo.day.jobs, "seconds": seconds}
    demo.progress = Progress(demo.day.jobs)
    demo.screen.say(
        "put",
        f"[bold]{total:,} jobs[/bold] of an online shop in {seconds:.1f} s:\n"
        + ", ".join(f"{count:,} {queue}" for queue, count in demo.day.jobs.items())
        + f"\n{_sum(counts, 'waiting'):,} wait, {_sum(counts, 'scheduled'):,} are for later, "
        f"{_sum(counts, 'blocked'):,} wait for other jobs",
    )


def start_workers(demo: Demo) -> None:
    """Real ones, as an operator would start them."""
    for _ in range(WORKERS):
        demo.workers.start()
    pids = " and ".join(str(worker.process.pid) for worker in demo.workers.started)
    *before, option, queues = arguments()
    demo.screen.say(
        "work",
        f"{WORKERS} workers, pids {pids}; each was started with\n"
        f"[dim]headrace {' '.join(before)}[/dim]\n[dim]    {option} {queues}[/dim]",
    )
    demo.progress.began = time.monotonic()


def work(demo: Demo) -> None:
    """Lets them work until it is time to kill one that is busy, or all is over."""

    def is_time() -> bool:
        over, total = demo.progress.over, demo.progress.total
        return over == total or (
            over >= KILL_AT * total
            and (max(_held_by(demo, worker) for worker in demo.workers.started) >= HOLDS_AT_LEAST)
        )

    _watch(demo, is_time)


def kill(demo: Demo) -> None:
    """Kills a worker in the middle of its work, and looks what it had in its hands."""
    busiest = max(reversed(demo.workers.started), key=lambda worker: _held_by(demo, worker))
    dead = demo.dead = busiest
    demo.died_at = datetime.now(UTC)
    dead.kill()
    running = [
        job
        for queue in demo.progress.put
        for job in demo.hr.queue(queue).jobs("running", count=1000).jobs
        if dead.names(job.worker)
    ]
    demo.held = [job.id for job in running]
    queues = Counter(job.queue for job in running)
    demo.found["kill"] = {"pid": dead.process.pid, "at": demo.died_at, "held": demo.held}
    demo.screen.say(
        "kill -9",
        f"[red]worker {dead.number}, pid {dead.process.pid}[/red], after "
        f"{demo.progress.over:,} jobs\nit held {len(running)}: "
        + ", ".join(f"{count} {queue}" for queue, count in queues.most_common()),
    )


def recover(demo: Demo) -> None:
    """Its peer goes on; the jobs of the dead one come back when its session lapses."""
    dead = demo.dead
    if dead is None:
        return

    def is_recovered() -> bool:
        past = (datetime.now(UTC) - demo.died_at).total_seconds()
        demo.progress.note = (
            f"[red]worker {dead.number} is dead for {past:.1f} s; nobody renews its session[/red]"
        )
        return not any(dead.names(job.worker) for job in demo.hr.jobs(demo.held))

    _watch(demo, is_recovered)
    demo.progress.note = ""
    _watch_again(demo)
    again = findings.recoveries(demo.hr.events(), demo.held, demo.died_at)
    demo.found["recovery"] = [asdict(one) for one in again]
    demo.screen.say(
        "recover",
        f"[green]{len(again)} of {len(demo.held)} jobs[/green] were handed to another worker\n"
        f"{_between([one.again_after for one in again])} s after the kill",
    )
    demo.screen.show(closing.recovery_table(again, demo.workers.started))


def replace(demo: Demo) -> None:
    """What keeps services running would start another one."""
    worker = demo.workers.start()
    demo.screen.say("replace", f"worker {worker.number}, pid {worker.process.pid}, takes its place")


def finish(demo: Demo) -> None:
    """Until all is over, then the workers may go home."""
    _watch(demo, lambda: demo.progress.over == demo.progress.total and _all_work(demo))
    demo.workers.end()
    demo.found["seconds"] = time.monotonic() - demo.began
    codes = [worker.process.returncode for worker in demo.workers.started if worker != demo.dead]
    demo.screen.say(
        "drain",
        f"all {demo.progress.total:,} jobs are over; told to end, the workers exited with "
        + " and ".join(map(str, codes)),
    )


def sum_up(demo: Demo) -> None:
    """What the server counted, and whether the books balance."""
    if demo.day is not None:
        closing.sum_up(demo.hr, demo.screen, demo.day, demo.held, demo.found)


def keep_history(demo: Demo) -> None:
    """What happened, as files, tables, an answer and a picture. All is over by now: who has seen
    enough may end it here, and keeps the server and what is in the lake.
    """
    if not history.is_possible():
        demo.found["history"] = {"needs": history.INSTALL}
        demo.screen.say(
            "lake",
            "what happened can become Parquet files, tables, SQL and a picture:\n"
            f"[bold]{escape(history.INSTALL)}[/bold], and run the demo again",
        )
        return
    try:
        history.keep(demo.hr, demo.place, demo.screen, demo.found)
    except KeyboardInterrupt:
        demo.interrupted = True
        demo.screen.say("lake", "ended early; [dim]headrace lake sync[/dim] would go on")


# Later parts of the demo (the dashboard) are further steps before the last.
STEPS: tuple[Callable[[Demo], None], ...] = (
    put_jobs,
    start_workers,
    work,
    kill,
    recover,
    replace,
    finish,
    sum_up,
    keep_history,
)


def _watch(demo: Demo, is_over: Callable[[], bool]) -> None:
    """Shows the progress until something is the case."""
    progress, moved_at, over = demo.progress, time.monotonic(), -1
    with demo.screen.moving(progress):
        while True:
            progress.update(demo.hr.queues(), len(demo.hr.workers.list()))
            demo.screen.moved(progress)
            if is_over():
                return
            if progress.over != over:
                moved_at, over = time.monotonic(), progress.over
            elif time.monotonic() - moved_at > PATIENCE:
                raise HeadraceError(
                    f"nothing has happened for {PATIENCE:.0f} s; see {demo.workers.log}"
                )
            time.sleep(LOOK_EVERY)


def _watch_again(demo: Demo) -> None:
    """Until the jobs of the dead one were handed out, not only given back."""
    waiting = set(demo.held)

    def all_began() -> bool:
        waiting.difference_update(
            job.id for job in demo.hr.jobs(sorted(waiting)) if job.state != "waiting"
        )
        return not waiting

    _watch(demo, all_began)


def _all_work(demo: Demo) -> bool:
    """Whether all have begun: what is told to end before that ends like any process."""
    names = [worker.name for worker in demo.hr.workers.list()]
    living = [program for program in demo.workers.started if program.process.poll() is None]
    return all(any(map(program.names, names)) for program in living)


def _held_by(demo: Demo, program: WorkerProgram) -> int:
    return sum(worker.jobs for worker in demo.hr.workers.list() if program.names(worker.name))


def _sum(counts: Any, state: str) -> int:
    return sum(getattr(one, state) for one in counts.values())


def _between(seconds: list[float]) -> str:
    return f"from {min(seconds):.1f} to {max(seconds):.1f}" if seconds else "0"
