"""Who is measured: what its worker and its producer are called, and what it takes part in.

How each is set up, and why, is said in its file in benchmarks/rivals, or here where it is a matter
of the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.field.homes import HOMES, OWN, ROOT, python

Command = tuple[str, ...]
PRODUCER = ("-m", "benchmarks.rivals.producer")
NODE = str(ROOT / "benchmarks" / "rivals" / "node" / "main.js")

KILL = frozenset({"kill"})
DRAIN = frozenset({"drain", "drain2"})
# Where it matters how a worker works.
WORKING = DRAIN | {"latency", "io", "cpu", "idle"}
PUTTING = frozenset({"put", "bulk", "bytes", "backlog"})
EVERYTHING = PUTTING | WORKING | KILL


@dataclass(frozen=True)
class Load:
    """What is asked of a worker; without a concurrency it has its own."""

    processes: int = 1
    concurrency: int | None = None


Work = Callable[[Load], tuple[Command, ...]]


@dataclass(frozen=True)
class Contestant:
    """A worker and its producer, as commands; `home` is the environment that they need."""

    name: str
    home: str
    put: Command
    work: Work
    settings: Mapping[str, str] = field(default_factory=dict)
    parts: frozenset[str] = EVERYTHING
    pure_python: bool = True
    server: str = "valkey"


def several(*command: str) -> Work:
    """For those who have no word for several processes: the same command as often."""
    return lambda load: (command,) * load.processes


def _ours(name: str, parts: frozenset[str], **settings: str) -> Contestant:
    command = (str(Path(OWN).with_name("headrace")), "work", "benchmarks.field.ours:app")

    def work(load: Load) -> tuple[Command, ...]:
        at_once = ("-c", str(load.concurrency)) if load.concurrency else ()
        return ((*command, "--processes", str(load.processes), *at_once),)

    put = (OWN, *PRODUCER, "benchmarks.field.ours")
    return Contestant(name, "", put, work, settings, parts)


OURS = _ours("headrace", EVERYTHING | {"pop", "kill-process"})
OURS_LEAN = _ours("headrace, profile task", frozenset({"bytes"}), BENCH_PROFILE="task")
BARE = Contestant(
    "bare BLPOP",
    "",
    (OWN, *PRODUCER, "benchmarks.rivals.bare"),
    several(OWN, "-m", "benchmarks.rivals.bare"),
    parts=frozenset({"latency"}),
)
SAME_WRITES = Contestant(
    "the same writes, bare",
    "",
    (OWN, *PRODUCER, "benchmarks.rivals.same_writes"),
    several(),
    parts=frozenset({"put"}),
)
FLOORS = (BARE, SAME_WRITES)


def _python(
    name: str, work: Work, parts: frozenset[str], *, pure_python: bool = True, **settings: str
) -> Contestant:
    home = name.partition(",")[0]
    put = (python(home), *PRODUCER, f"benchmarks.rivals.{home}_app")
    return Contestant(name, home, put, work, settings, parts, pure_python)


def _rq(kind: str) -> Work:
    command = (python("rq"), "-m", "benchmarks.rivals.rq_app", kind)
    return lambda load: ((*command, str(load.processes)),)


def _celery(load: Load) -> tuple[Command, ...]:
    # There are no other workers to gossip and mingle with.
    command = (
        *(python("celery"), "-m", "celery", "-A", "benchmarks.rivals.celery_app", "worker"),
        *("-l", "WARNING", "--without-gossip", "--without-mingle"),
    )
    if load.concurrency:
        # Work that waits needs many in a process; its threads were faster than its greenlets.
        return ((*command, "-P", "threads", "-c", str(load.concurrency)),)
    return ((*command, "-c", str(load.processes)),)


def _dramatiq(load: Load) -> tuple[Command, ...]:
    # Eight threads by default; its greenlets were slower than its threads.
    app = ("-m", "dramatiq", "benchmarks.rivals.dramatiq_app", "--processes", str(load.processes))
    threads = ("--threads", str(load.concurrency)) if load.concurrency else ()
    return ((python("dramatiq"), *app, *threads),)


def _huey(threads: int) -> Work:
    consumer = ("huey.bin.huey_consumer", "benchmarks.rivals.huey_app.huey", "-n", "-q")
    plain = (python("huey"), "-m", *consumer)

    def work(load: Load) -> tuple[Command, ...]:
        if load.concurrency:
            # For work that waits it advises greenlets, and gevent's patches for them.
            patched = (python("huey"), "-m", "gevent.monkey", "--module", *consumer)
            return ((*patched, "-k", "greenlet", "-w", str(load.concurrency)),)
        if load.processes > 1:
            return ((*plain, "-k", "process", "-w", str(load.processes)),)
        return ((*plain, "-w", str(threads)),)

    return work


_arq = several(
    *(python("arq"), "-m", "arq", "benchmarks.rivals.arq_app.settings"),
    *("--custom-log-dict", "benchmarks.rivals.arq_app.quiet"),
)


def _taskiq(load: Load) -> tuple[Command, ...]:
    # A hundred jobs at once by default.
    app = ("worker", "benchmarks.rivals.taskiq_app:broker", "--log-level", "WARNING")
    return ((python("taskiq"), "-m", "taskiq", *app, "--workers", str(load.processes)),)


def _saq(load: Load) -> tuple[Command, ...]:
    app = ("-m", "saq", "benchmarks.rivals.saq_app.settings")
    return ((python("saq"), *app, "--workers", str(load.processes)),)


def _streaq(load: Load) -> tuple[Command, ...]:
    app = ("run", "benchmarks.rivals.streaq_app:worker")
    return ((python("streaq"), "-m", "streaq", *app, "--workers", str(load.processes)),)


def _ardiq(load: Load) -> tuple[Command, ...]:
    app = ("run", "benchmarks.rivals.ardiq_app:app", "-q")
    return ((python("ardiq"), "-m", "ardiq", *app, "--workers", str(load.processes)),)


_beanstalkd = Contestant(
    "beanstalkd",
    "greenstalk",
    (python("greenstalk"), *PRODUCER, "benchmarks.rivals.greenstalk_app"),
    several(python("greenstalk"), "-m", "benchmarks.rivals.greenstalk_app"),
    parts=EVERYTHING - {"bulk", "backlog"},
    pure_python=False,
    server="beanstalkd",
)


def _node(home: str, name: str = "", parts: frozenset[str] = EVERYTHING, **more: str) -> Contestant:
    settings = {"NODE_PATH": str(HOMES / home / "node_modules"), **more}
    work = several("node", NODE, home, "work")
    return Contestant(name or home, home, ("node", NODE, home), work, settings, parts, False)


# Those without a call for many jobs, and nothing to await.
ONE_BY_ONE = EVERYTHING - {"bulk", "backlog"}

RIVALS = (
    # One job at a time in a process, so nothing that waits a hundred times at once.
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
FIELD = (OURS, OURS_LEAN, *FLOORS, *RIVALS)
