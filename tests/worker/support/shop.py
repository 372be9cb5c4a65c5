"""An app for tests, run by `headrace work tests.worker.support.shop:app`.

Every run is noted in a file, so that a test can compare the notes with the server's records. Gates
are files: a task that waits at a gate continues when the test has created the file.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from headrace import App, Backoff, Context, Discard, LeaseLost, Limits, Retry, Snooze

QUICKLY = Backoff(first=0.01, factor=1, jitter=0)
HOME = Path(os.environ["SHOP_HOME"])
NOTES = os.open(HOME / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

app = App(
    os.environ["SHOP_NAME"],
    backoff=QUICKLY,
    limits=Limits(payload=int(os.environ.get("SHOP_PAYLOAD", str(1 << 20)))),
    durability="aof" if "SHOP_DURABLE" in os.environ else 0,
)


def note(word: str, about: Context | None = None) -> None:
    job = about or Context.current()
    line = f"{job.id} {job.attempt} {os.getpid()} {time.monotonic()} {word}\n"
    os.write(NOTES, line.encode())


def is_open(gate: str) -> bool:
    return (HOME / gate).exists()


async def until_open(gate: str) -> None:
    while not is_open(gate):  # noqa: ASYNC110 - another process opens the gate
        await asyncio.sleep(0.01)


# tasks that end without an action of the test


@app.task()
async def quick() -> None:
    note("ran")


@app.task()
def sync() -> None:
    note("ran")


@app.task(run="process")
def isolated() -> None:
    note("ran")


@app.task()
async def brief(seconds: float) -> None:
    note("ran")
    await asyncio.sleep(seconds)


@app.task()
def brief_sync(seconds: float) -> None:
    note("ran")
    time.sleep(seconds)


@app.task()
async def double(number: int) -> int:
    note("ran")
    return 2 * number


@app.task(run="process")
def length_isolated(text: str) -> int:
    return len(text)


@app.task()
async def length(text: str) -> int:
    return len(text)


@app.task()
def hog(seconds: float) -> None:
    """Hold the interpreter lock in a C call."""
    note("ran")
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


@app.task()
async def hog_the_loop(seconds: float) -> None:
    note("ran")
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


# tasks that wait at a gate


@app.task()
async def gate(name: str) -> str:
    note("begun")
    try:
        await until_open(name)
    except asyncio.CancelledError:
        note("cancelled")
        raise
    note("ended")
    return name


@app.task()
async def stubborn(name: str) -> None:
    note("begun")
    while not is_open(name):
        try:
            await until_open(name)
        except asyncio.CancelledError:
            note("cancelled")


@app.task()
def gate_sync(name: str) -> None:
    note("begun")
    while not is_open(name):
        time.sleep(0.01)
    note("ended")


@app.task()
def gate_in_c(name: str) -> None:
    """Block in one system call, which cannot be interrupted, until the pipe has a reader."""
    note("begun")
    os.close(os.open(HOME / name, os.O_WRONLY))
    note("ended")


@app.task(run="process")
def gate_isolated(name: str) -> None:
    note("begun")
    while not is_open(name):
        time.sleep(0.01)
    note("ended")


@app.task()
async def awaits_a_thread(name: str) -> None:
    note("begun")
    await asyncio.to_thread(_sleep_until_open, name)


def _sleep_until_open(name: str) -> None:
    while not is_open(name):
        time.sleep(0.01)


@app.task()
def attentive(context: Context) -> None:
    """End when the context shows that the lease is lost."""
    note("begun")
    try:
        while not context.wait(10):
            pass
        context.check()
    except BaseException as error:
        note(f"saw {type(error).__name__} {context.cancelled}", context)
        raise


@app.task()
def reports_late(context: Context, name: str) -> None:
    """Report progress, log and heartbeat when the gate opens, even if the task was interrupted."""
    note(f"begun {name}")
    note("ran")
    while not is_open(name):
        with suppress(BaseException):
            time.sleep(0.01)
    says: dict[str, Callable[[], None]] = {
        "progress": lambda: context.progress(0.5),
        "log": lambda: context.log("late"),
        "heartbeat": context.heartbeat,
    }
    for word, say in says.items():
        try:
            say()
        except LeaseLost:
            note(f"refused {word}")
        else:
            note(f"accepted {word}")


# tasks that fail


@app.task()
async def fails(message: str = "no") -> None:
    note("ran")
    raise ValueError(message)


@app.task()
async def fails_but_last(times: int) -> None:
    note("ran")
    if Context.current().attempt <= times:
        raise ValueError("not yet")


@app.task()
def dies(how: str) -> None:
    note("ran")
    _die(how)


@app.task(run="process")
def dies_isolated(how: str) -> None:
    note("ran")
    _die(how)


@app.task(run="process")
def forks_isolated(then: str) -> None:
    """Fork a child that inherits all files and sleeps, then die or hang."""
    child = os.fork()
    if child == 0:
        while True:
            time.sleep(60)
    note(f"child {child}")
    if then == "hang":
        while True:
            time.sleep(60)
    _die(then)


@app.task(run="process")
def begins_isolated() -> None:
    """Start another program, then hang."""
    other = subprocess.Popen(["sleep", "1000"])
    note(f"child {other.pid}")
    other.wait()


def _die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        ctypes.string_at(0)


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class UnpickledError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("cannot be pickled")
        self.lock = NOTES, lambda: (one, two)


def _raise(kind: str) -> None:
    note("ran")
    if kind == "exit":
        raise SystemExit(3)
    errors = {
        "mute": MuteError(),
        "huge": ValueError("x" * 3_000_000),
        "surrogate": ValueError("\ud800"),
        "unpickled": UnpickledError(1, 2),
        "long name": type("\N{FIRE}" * 100, (Exception,), {})("x"),
        "control": Discard("x", failure="a\nb"),
        "cancelled": asyncio.CancelledError(),
        "interrupt": KeyboardInterrupt(),
    }
    raise errors[kind]


@app.task()
async def raises(kind: str) -> None:
    _raise(kind)


@app.task()
def raises_sync(kind: str) -> None:
    _raise(kind)


@app.task(run="process")
def raises_isolated(kind: str) -> None:
    _raise(kind)


@app.task()
async def returns(what: str) -> object:
    values = {"object": object(), "nan": float("nan"), "large": "x" * 3_000_000}
    if what == "circle":
        circle: list[object] = []
        circle.append(circle)
        return circle
    return values[what]


# tasks that set the outcome of their job


@app.task()
async def snoozes(times: int) -> None:
    note("ran")
    if Context.current().attempt <= times:
        raise Snooze(0.01)


@app.task()
async def discards() -> None:
    note("ran")
    raise Discard("useless", failure="Useless")


@app.task()
async def retries(delay: float) -> None:
    note("ran")
    if Context.current().attempt == 1:
        raise Retry("once more", delay=delay)


@app.task()
def echo(text: str) -> str:
    return text


@app.task()
async def exits_within() -> None:
    async def inner() -> None:
        sys.exit(3)

    await asyncio.create_task(inner())


class Unfinished(Retry):
    """An exception that does not call the constructor of its base class."""

    def __init__(self) -> None:
        self.host = "mx1"


@app.task()
def unfinished() -> None:
    raise Unfinished
