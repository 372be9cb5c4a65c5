"""Who is measured, how each is installed, and what its worker and its producer are called."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HOMES = HERE.parent / ".rivals"
OWN = sys.executable
PRODUCER = ("-m", "benchmarks.rivals.producer")
PATIENCE = 600


@dataclass(frozen=True)
class Contestant:
    """A worker and its producer, as commands; `home` is the environment that they need."""

    name: str
    work: tuple[str, ...]
    put: tuple[str, ...]
    home: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    pure_python: bool = False


class CannotInstall(Exception):
    """A rival is not here, and could not be brought here; the message says why."""


def headrace(queue: str) -> Contestant:
    """Our own worker with its default settings, in one process."""
    command = str(Path(OWN).with_name("headrace"))
    return Contestant(
        "headrace",
        (command, "work", "benchmarks.apps.noop:app", "-q", queue, "--processes", "1"),
        (OWN, *PRODUCER, "benchmarks.apps.noop"),
    )


BARE = Contestant(
    "bare BLPOP",
    (OWN, "-m", "benchmarks.rivals.bare"),
    (OWN, *PRODUCER, "benchmarks.rivals.bare"),
)


def _python(home: str) -> str:
    return str(HOMES / home / "bin" / "python")


def _dramatiq(name: str, settings: Mapping[str, str]) -> Contestant:
    module = "benchmarks.rivals.dramatiq_app"
    return Contestant(
        name,
        (_python("dramatiq"), "-m", "dramatiq", module, "--processes", "1"),
        (_python("dramatiq"), *PRODUCER, module),
        "dramatiq",
        settings,
        pure_python=True,
    )


def _huey(threads: int) -> Contestant:
    consumer = "huey.bin.huey_consumer"
    module = "benchmarks.rivals.huey_app"
    return Contestant(
        f"huey, {threads} threads",
        (_python("huey"), "-m", consumer, f"{module}.huey", "-w", str(threads), "-n", "-q"),
        (_python("huey"), *PRODUCER, module),
        "huey",
        pure_python=True,
    )


TASKIQ = "benchmarks.rivals.taskiq_app"
BULLMQ = str(HERE / "bullmq" / "app.js")

RIVALS = (
    _dramatiq("dramatiq", {}),
    _dramatiq("dramatiq, prefetch 1000", {"dramatiq_queue_prefetch": "1000"}),
    _huey(4),
    Contestant(
        "taskiq, stream",
        (
            *(_python("taskiq"), "-m", "taskiq", "worker", f"{TASKIQ}:broker"),
            *("--workers", "1", "--log-level", "WARNING"),
        ),
        (_python("taskiq"), *PRODUCER, TASKIQ),
        "taskiq",
        pure_python=True,
    ),
    Contestant(
        "bullmq, concurrency 100",
        ("node", BULLMQ, "work"),
        ("node", BULLMQ),
        "bullmq",
        {"NODE_PATH": str(HOMES / "bullmq" / "node_modules")},
    ),
)


def install(home: str) -> None:
    """Bring the pinned versions into benchmarks/.rivals, unless they are there."""
    node = home == "bullmq"
    pins = HERE / "bullmq" / "package.json" if node else HERE / "requirements" / f"{home}.txt"
    place = HOMES / home
    done = place / ".installed"
    if done.exists() and done.read_text() == pins.read_text():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if node:
        shutil.copy(pins, place)
        _run("npm", "install", "--prefix", str(place), "--no-package-lock", "--no-audit")
    else:
        _run(OWN, "-m", "venv", str(place))
        pip = ("-m", "pip", "install", "--disable-pip-version-check", "--no-deps")
        _run(_python(home), *pip, "-r", str(pins))
    done.write_text(pins.read_text())


def _run(*command: str) -> None:
    if not shutil.which(command[0]):
        raise CannotInstall(f"{command[0]} is not on this machine")
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"{command[0]} took more than {PATIENCE} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise CannotInstall(lines[-1])
