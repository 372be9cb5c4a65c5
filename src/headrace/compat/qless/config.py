"""Read and set qless options; their names and units are those in the qless documentation."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.compat.qless.context import QlessLike
from headrace.engine.call import build
from headrace.engine.timestamps import DAY
from headrace.errors import InvalidArgument
from headrace.operations import queues
from headrace.operations.queues import QueueRef
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

Number = float | int | None


class QlessOption(NamedTuple):
    """The Headrace setting that corresponds to a qless option.

    Multiplying a value of the option by `unit` gives the value of the setting.
    """

    setting: str
    unit: int = 1

    def to_headrace(self, value: Number) -> Number:
        """Convert a value of the qless option to a value of the Headrace setting."""
        return value * self.unit if isinstance(value, int | float) and self.unit > 1 else value

    def from_headrace(self, value: Any) -> Number:
        """Convert a value of the Headrace setting to a value of the qless option."""
        found = value if value is None else value / self.unit
        return int(found) if isinstance(found, float) and found.is_integer() else found


OPTIONS = {
    "heartbeat": QlessOption("lease"),
    "stats-history": QlessOption("stats_age", DAY),
    "histogram-history": QlessOption("histogram_age", DAY),
    "jobs-history-count": QlessOption("keep_count"),
    "jobs-history": QlessOption("keep_age", DAY),
    "max-job-history": QlessOption("history"),
    "max-worker-age": QlessOption("worker_age"),
}
QUEUE_OPTIONS = {
    "-heartbeat": QlessOption("lease"),
    "-max-concurrency": QlessOption("concurrency"),
}


def set_config(client: QlessLike, option: str, value: Number | Unset = UNSET) -> Operation[None]:
    """Set an option; without a value, restore its default."""
    queue, found = _find(option)
    if found is None:
        names = ", ".join([*OPTIONS, *(f"<queue>{suffix}" for suffix in QUEUE_OPTIONS)])
        raise InvalidArgument(f"unknown option {option!r}; the options are: {names}")
    if isinstance(value, Unset) and queue:
        name = queues.check_name(client.core, queue)
        call = build("configure", int, [(found.setting, b"")], queue=name, actor=client.core.actor)
        yield from queues.on_all_shards(client.core, call)
    elif isinstance(value, Unset):
        yield from queues.config_unset(client, found.setting)
    elif queue:
        yield from queues.configure(QueueRef(client.core, queue), None, **{found.setting: value})
    else:
        yield from queues.config_set(client, found.setting, found.to_headrace(value))


def get_config(
    client: QlessLike, option: str | None = None
) -> Operation[Number | dict[str, Number]]:
    """Return the value of an option (None if unknown); without a name, return all values."""
    queue, found = _find(option)
    if option is not None and found is None:
        return None
    if queue and found is not None:
        settings = yield from queues.settings(QueueRef(client.core, queue))
        return found.from_headrace(settings[found.setting])
    stored = yield from queues.config_get(client)
    if found is not None:
        return found.from_headrace(stored[found.setting])
    return {name: each.from_headrace(stored[each.setting]) for name, each in OPTIONS.items()}


def _find(option: str | None) -> tuple[str, QlessOption | None]:
    """Return the queue of an option ("" for the namespace), and the option (None if unknown)."""
    if option is None:
        return "", None
    if not isinstance(option, str):
        raise InvalidArgument(f"option must be a str, not {type(option).__name__}")
    if option in OPTIONS:
        return "", OPTIONS[option]
    for suffix, of_queue in QUEUE_OPTIONS.items():
        if option.endswith(suffix) and option != suffix:
            return option.removesuffix(suffix), of_queue
    return "", None
