"""The options of `headrace work`, and a function that imports the app."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from headrace.app.app import App
from headrace.engine.check import milliseconds
from headrace.errors import InvalidArgument

SESSION_TTL = 3.0


@dataclass(frozen=True, slots=True)
class ServedQueue:
    """A queue that a worker serves, with the weight of the queue."""

    name: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The checked options of `headrace work`.

    If `queues` is empty, the worker serves the queues of the app's tasks. Unless `weighted` is
    true, the worker serves its queues in strict order.
    """

    app: str
    queues: tuple[ServedQueue, ...] = ()
    weighted: bool = False
    processes: int = 1
    concurrency: int = 16
    drain: float = 30.0
    ttl: float = SESSION_TTL
    max_jobs: int | None = None
    max_memory: int | None = None

    def __post_init__(self) -> None:
        milliseconds("the session length", self.ttl)
        milliseconds("the drain time", self.drain)


def read_queues(listed: str) -> tuple[tuple[ServedQueue, ...], bool]:
    """Parse a list of queues; return the queues and whether the list contains weights.

    A worker serves "mail,default" in strict order and "mail:3,default:1" by weight. Raises
    InvalidArgument if a queue is listed twice or a weight is not a positive number.
    """
    served = tuple(_read_queue(part.strip()) for part in listed.split(",") if part.strip())
    names = [queue.name for queue in served]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidArgument(f"queue {min(twice)!r} is listed twice; list every queue once")
    return served, ":" in listed


def _read_queue(part: str) -> ServedQueue:
    name, colon, weight = part.rpartition(":")
    if not colon:
        return ServedQueue(part)
    try:
        share = float(weight)
    except ValueError:
        share = 0
    if not name or not 0 < share < float("inf"):
        raise InvalidArgument(
            f"{part!r} is not a queue with a positive weight; write a weight like mail:3"
        )
    return ServedQueue(name, share)


def load_app(path: str) -> App:
    """Import and return the app at a path such as shop.tasks:app.

    The import also searches the current directory. Raises InvalidArgument if the module or the app
    does not exist.
    """
    module_name, colon, attribute = path.partition(":")
    if not module_name or (colon and not attribute):
        raise InvalidArgument(f"{path!r} names no app; write module:app, such as shop.tasks:app")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InvalidArgument(
            f"no module {error.name!r} in {here} or among the installed packages"
        ) from None
    apps = {name: value for name, value in vars(module).items() if isinstance(value, App)}
    if not colon and len(apps) == 1:
        return next(iter(apps.values()))
    if attribute in apps:
        return apps[attribute]
    found = ", ".join(f"{module_name}:{name}" for name in sorted(apps)) or "none"
    raise InvalidArgument(f"{path!r} is not an App; apps in {module_name}: {found}")
