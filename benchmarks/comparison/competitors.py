"""The competitors: the commands of their workers and producers, and their workloads.

The modules in benchmarks/competitors configure each competitor and give the reasons. This module
holds the settings that are options of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.comparison.environments import ENVIRONMENTS, OWN_PYTHON, ROOT, python

Command = tuple[str, ...]
PRODUCER = ("-m", "benchmarks.competitors.producer")
NODE = str(ROOT / "benchmarks" / "competitors" / "node" / "main.js")

KILL = frozenset({"kill"})
DRAIN = frozenset({"drain", "drain2"})
# Workloads that depend on the configuration of a worker.
WORKING = DRAIN | {"latency", "io", "cpu", "idle"}
PUTTING = frozenset({"put", "bulk", "bytes", "backlog"})
EVERYTHING = PUTTING | WORKING | KILL


@dataclass(frozen=True)
class Load:
    """The requested size of a worker. Without a concurrency, the worker uses its own default."""

    processes: int = 1
    concurrency: int | None = None


Work = Callable[[Load], tuple[Command, ...]]


@dataclass(frozen=True)
class Competitor:
    """A worker and its producer, as commands, and the environment that they need."""

    name: str
    environment: str
    put: Command
    work: Work
    settings: Mapping[str, str] = field(default_factory=dict)
    workloads: frozenset[str] = EVERYTHING
    pure_python: bool = True
    server: str = "valkey"


def several(*command: str) -> Work:
    """Start the same command once per process, for workers without an option for processes."""
    return lambda load: (command,) * load.processes


def _headrace(name: str, workloads: frozenset[str], **settings: str) -> Competitor:
    command = (
        str(Path(OWN_PYTHON).with_name("headrace")),
        "work",
        "benchmarks.comparison.headrace_app:app",
    )

    def work(load: Load) -> tuple[Command, ...]:
        at_once = ("-c", str(load.concurrency)) if load.concurrency else ()
        return ((*command, "--processes", str(load.processes), *at_once),)

    put = (OWN_PYTHON, *PRODUCER, "benchmarks.comparison.headrace_app")
    return Competitor(name, "", put, work, settings, workloads)


HEADRACE = _headrace("headrace", EVERYTHING | {"pop", "kill-process"})
HEADRACE_LEAN = _headrace("headrace, profile task", frozenset({"bytes"}), BENCH_PROFILE="task")
BARE_LIST = Competitor(
    "bare BLPOP",
    "",
    (OWN_PYTHON, *PRODUCER, "benchmarks.competitors.bare_list"),
    several(OWN_PYTHON, "-m", "benchmarks.competitors.bare_list"),
    workloads=frozenset({"latency"}),
)
SAME_WRITES = Competitor(
    "the same writes, bare",
    "",
    (OWN_PYTHON, *PRODUCER, "benchmarks.competitors.same_writes"),
    several(),
    workloads=frozenset({"put"}),
)
BASELINES = (BARE_LIST, SAME_WRITES)


def _python(
    name: str, work: Work, workloads: frozenset[str], *, pure_python: bool = True, **settings: str
) -> Competitor:
    environment = name.partition(",")[0]
    put = (python(environment), *PRODUCER, f"benchmarks.competitors.{environment}_app")
    return Competitor(name, environment, put, work, settings, workloads, pure_python)


def _rq(kind: str) -> Work:
    command = (python("rq"), "-m", "benchmarks.competitors.rq_app", kind)
    return lambda load: ((*command, str(load.processes)),)


def _celery(load: Load) -> tuple[Command, ...]:
    # Celery's features gossip and mingle need other workers, and a trial has only one worker.
    command = (
        *(python("celery"), "-m", "celery", "-A", "benchmarks.competitors.celery_app", "worker"),
        *("-l", "WARNING", "--without-gossip", "--without-mingle"),
    )
    if load.concurrency:
        # Jobs that wait need many slots. Celery's threads were faster than its greenlets.
        return ((*command, "-P", "threads", "-c", str(load.concurrency)),)
    return ((*command, "-c", str(load.processes)),)


def _dramatiq(load: Load) -> tuple[Command, ...]:
    # Dramatiq has eight threads by default. Its greenlets were slower than its threads.
    app = (
        "-m",
        "dramatiq",
        "benchmarks.competitors.dramatiq_app",
        "--processes",
        str(load.processes),
    )
    threads = ("--threads", str(load.concurrency)) if load.concurrency else ()
    return ((python("dramatiq"), *app, *threads),)


def _huey(threads: int) -> Work:
    consumer = ("huey.bin.huey_consumer", "benchmarks.competitors.huey_app.huey", "-n", "-q")
    plain = (python("huey"), "-m", *consumer)

    def work(load: Load) -> tuple[Command, ...]:
        if load.concurrency:
            # For jobs that wait, Huey's documentation recommends greenlets with gevent's patches.
            patched = (python("huey"), "-m", "gevent.monkey", "--module", *consumer)
            return ((*patched, "-k", "greenlet", "-w", str(load.concurrency)),)
        if load.processes > 1:
            return ((*plain, "-k", "process", "-w", str(load.processes)),)
        return ((*plain, "-w", str(threads)),)

    return work


_arq = several(
    *(python("arq"), "-m", "arq", "benchmarks.competitors.arq_app.settings"),
    *("--custom-log-dict", "benchmarks.competitors.arq_app.quiet"),
)


def _taskiq(load: Load) -> tuple[Command, ...]:
    # taskiq runs a hundred concurrent jobs by default.
    app = ("worker", "benchmarks.competitors.taskiq_app:broker", "--log-level", "WARNING")
    return ((python("taskiq"), "-m", "taskiq", *app, "--workers", str(load.processes)),)


def _saq(load: Load) -> tuple[Command, ...]:
    app = ("-m", "saq", "benchmarks.competitors.saq_app.settings")
    return ((python("saq"), *app, "--workers", str(load.processes)),)


def _streaq(load: Load) -> tuple[Command, ...]:
    app = ("run", "benchmarks.competitors.streaq_app:worker")
    return ((python("streaq"), "-m", "streaq", *app, "--workers", str(load.processes)),)


def _ardiq(load: Load) -> tuple[Command, ...]:
    app = ("run", "benchmarks.competitors.ardiq_app:app", "-q")
    return ((python("ardiq"), "-m", "ardiq", *app, "--workers", str(load.processes)),)


_beanstalkd = Competitor(
    "beanstalkd",
    "greenstalk",
    (python("greenstalk"), *PRODUCER, "benchmarks.competitors.greenstalk_app"),
    several(python("greenstalk"), "-m", "benchmarks.competitors.greenstalk_app"),
    workloads=EVERYTHING - {"bulk", "backlog"},
    pure_python=False,
    server="beanstalkd",
)


def _node(
    environment: str, name: str = "", workloads: frozenset[str] = EVERYTHING, **more: str
) -> Competitor:
    settings = {"NODE_PATH": str(ENVIRONMENTS / environment / "node_modules"), **more}
    work = several("node", NODE, environment, "work")
    return Competitor(
        name or environment,
        environment,
        ("node", NODE, environment),
        work,
        settings,
        workloads,
        False,
    )


# Competitors with neither a bulk call nor an async put.
ONE_BY_ONE = EVERYTHING - {"bulk", "backlog"}

COMPETITORS = (
    # RQ runs one job at a time per process, so RQ cannot run 100 waiting jobs at once.
    _python("rq", _rq("fork"), EVERYTHING - {"io"}),
    _python("rq, SimpleWorker", _rq("simple"), DRAIN),
    _python("celery", _celery, ONE_BY_ONE - KILL, BENCH_PREFETCH="64"),
    _python("celery", _celery, KILL),
    _python("celery, acks_late", _celery, KILL, BENCH_LATE="30"),
    _python("dramatiq", _dramatiq, ONE_BY_ONE),
    _python("dramatiq, prefetch 1000", _dramatiq, DRAIN, dramatiq_queue_prefetch="1000"),
    _python("huey", _huey(1), ONE_BY_ONE),
    _python("huey, 4 threads", _huey(4), frozenset({"drain"})),
    _python("arq", _arq, EVERYTHING),
    _python("arq, poll 10 ms", _arq, WORKING - {"idle"}, BENCH_POLL="0.01"),
    _python("arq, job_timeout 20", _arq, KILL, BENCH_TIMEOUT="20"),
    _python("taskiq", _taskiq, EVERYTHING),
    _python("saq", _saq, EVERYTHING),
    _python("saq, 50 at once", _saq, DRAIN, BENCH_CONCURRENCY="50"),
    _python("saq, retries 3", _saq, KILL, BENCH_RETRIES="3"),
    _python("streaq", _streaq, EVERYTHING),
    _python("ardiq", _ardiq, EVERYTHING, pure_python=False),
    _python("ardiq, 100 at once", _ardiq, DRAIN, pure_python=False, BENCH_CONCURRENCY="100"),
    _node("bullmq"),
    _node("bee-queue"),
    _node("bee-queue", "bee-queue, checkStalledJobs", KILL, BENCH_STALLED="5000"),
    _beanstalkd,
)
ALL = (HEADRACE, HEADRACE_LEAN, *BASELINES, *COMPETITORS)
