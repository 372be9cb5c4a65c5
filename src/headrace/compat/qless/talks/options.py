"""The configuration under the names and in the units of the document."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.compat.qless.dialect import Face
from headrace.engine.call import build
from headrace.errors import InvalidArgument
from headrace.operations import queues
from headrace.operations.queues import QueueRef
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

DAY = 86_400

Number = float | int | None


class Option(NamedTuple):
    """What an option is called here, and how many of our units its own has."""

    setting: str
    unit: int = 1

    def ours(self, value: Number) -> Number:
        return value * self.unit if isinstance(value, int | float) and self.unit > 1 else value

    def theirs(self, value: Any) -> Number:
        found = value if value is None else value / self.unit
        return int(found) if isinstance(found, float) and found.is_integer() else found


OPTIONS = {
    "heartbeat": Option("lease"),
    "stats-history": Option("stats_age", DAY),
    "histogram-history": Option("histogram_age", DAY),
    "jobs-history-count": Option("keep_count"),
    "jobs-history": Option("keep_age", DAY),
    "max-job-history": Option("history"),
}
OF_A_QUEUE = {"-heartbeat": Option("lease"), "-max-concurrency": Option("concurrency")}


def set_config(client: Face, option: str, value: Number | Unset = UNSET) -> Operation[None]:
    """Sets an option; without a value it has its default again."""
    queue, found = _found(option)
    if found is None:
        names = ", ".join([*OPTIONS, *(f"<queue>{end}" for end in OF_A_QUEUE)])
        raise InvalidArgument(f"no option {option!r}; there are: {names}")
    if queue:
        where = QueueRef(client.core, queue)
        yield from _configure(where, found, value)
    elif isinstance(value, Unset):
        yield from queues.config_unset(client, found.setting)
    else:
        yield from queues.config_set(client, found.setting, found.ours(value))


def _configure(queue: QueueRef, option: Option, value: Number | Unset) -> Operation[None]:
    if isinstance(value, Unset):
        call = build("configure", int, [(option.setting, b"")], queue=queue.name)
        yield from queues.on_all_shards(queue.core, call)
    else:
        yield from queues.configure(queue, None, **{option.setting: value})


def get_config(client: Face, option: str | None = None) -> Operation[Number | dict[str, Number]]:
    """What holds for an option, None if there is none of this name; without a name, all."""
    queue, found = _found(option)
    if option is not None and found is None:
        return None
    if queue and found is not None:
        settings = yield from queues.settings(QueueRef(client.core, queue))
        return found.theirs(settings[found.setting])
    stored = yield from queues.config_get(client)
    if found is not None:
        return found.theirs(stored[found.setting])
    return {name: each.theirs(stored[each.setting]) for name, each in OPTIONS.items()}


def _found(option: str | None) -> tuple[str, Option | None]:
    """An option, and the queue of whose it is."""
    if option is None:
        return "", None
    if not isinstance(option, str):
        raise InvalidArgument(f"option must be a str, not {type(option).__name__}")
    if option in OPTIONS:
        return "", OPTIONS[option]
    for ending, of_queue in OF_A_QUEUE.items():
        if option.endswith(ending) and option != ending:
            return option.removesuffix(ending), of_queue
    return "", None
