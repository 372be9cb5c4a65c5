"""Settings of a queue: their names, kinds and defaults, and the five profiles.

A setting has three forms. Users pass a value such as `timedelta(hours=1)` or `"100/m"`. The server
stores a string such as `3600000` or `100/60000`. Users read a value with durations in seconds.

The Lua defaults and the documentation are generated from `SETTINGS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from headrace.engine.check import Span, milliseconds, shown, whole
from headrace.errors import InvalidArgument

Value = Span | int | str | bool | None

DAY = timedelta(days=1)
LARGEST_COUNT = 2**53
LARGEST_RATE = 10**9
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_RATE = re.compile(r"(\d{1,10})/(\d{0,10})(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: the kind of its values, its default, and where the setting can be changed."""

    kind: str
    default: Value
    about: str
    optional: bool = False
    choices: tuple[str, ...] = ()
    namespace_only: bool = False
    queue_only: bool = False


def _limit(kind: str, about: str) -> Setting:
    return Setting(kind, None, about, optional=True, queue_only=True)


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "lease": Setting("span", 60, "how long a lease lasts unless the worker renews it", True),
        "session": Setting(
            "choice",
            "optional",
            "whether jobs return when their worker's session ends, and whether pop needs a session",
            choices=("none", "optional", "required"),
        ),
        "returns": Setting(
            "choice", "front", "the default position of released jobs", choices=("front", "back")
        ),
        "removes": Setting("flag", False, "whether pop deletes the job"),
        "history": Setting("count", 100, "how many past attempts a job keeps"),
        "keep_count": Setting("count", 50_000, "how many completed jobs are kept"),
        "keep_age": Setting("span", 7 * DAY, "how long completed jobs are kept"),
        "stats": Setting(
            "flag", True, "whether daily statistics of waiting and running times are kept"
        ),
        "stats_age": Setting("span", 30 * DAY, "how long the statistics of a day are kept"),
        "histogram_age": Setting("span", 7 * DAY, "how long the histogram of a day is kept"),
        "retries": Setting("count", 5, "how often a job may be retried", True),
        "result_ttl": Setting("span", DAY, "how long a result is kept"),
        "on_exists": Setting(
            "choice",
            "move",
            "what a put of an existing id does",
            choices=("move", "replace", "reject", "duplicate"),
        ),
        "event_data": Setting(
            "count", 16_384, "payloads up to this size, in bytes, are included in events"
        ),
        "ingress": Setting(
            "choice",
            "data",
            "what an ingress element is: the data, or (with one shard) also the id of the job",
            choices=("data", "id"),
        ),
        "paused": Setting("flag", False, "whether pop returns no jobs"),
        "concurrency": _limit("count", "how many jobs of the queue may run at once"),
        "rate": _limit(
            "rate", "how many jobs of the queue may start per interval, such as '100/m'"
        ),
        "key_concurrency": _limit("count", "how many jobs of one key may run at once"),
        "key_rate": _limit("rate", "how many jobs of one key may start per interval"),
        "fair": Setting("flag", False, "whether the keys of the queue take turns", queue_only=True),
        "events_age": Setting("span", 7 * DAY, "how long events are kept", namespace_only=True),
        "events_count": Setting(
            "count", 1_000_000, "how many events a shard keeps", namespace_only=True
        ),
        "events_cap": Setting(
            "count",
            5_000_000,
            "the maximum number of events kept on a shard for a lake that has not archived them",
            namespace_only=True,
        ),
        "strict_feeds": Setting(
            "flag",
            False,
            "whether opening an unknown feed is refused and does not create the feed",
            namespace_only=True,
        ),
        "worker_age": Setting(
            "span",
            DAY,
            "how long a silent worker of the qless API stays listed",
            namespace_only=True,
        ),
        "grace": Setting(
            "span",
            15,
            "how long a worker may take to return after an outage of the server",
            namespace_only=True,
        ),
    }
)

_NO_RECORDS: Mapping[str, Value] = {"history": 0, "keep_count": 0, "stats": False, "retries": None}

PROFILES: Mapping[str, Mapping[str, Value]] = MappingProxyType(
    {
        "job": {},
        "fifo": {
            **_NO_RECORDS,
            "lease": None,
            "session": "none",
            "removes": True,
            "on_exists": "duplicate",
        },
        "task": {
            **_NO_RECORDS,
            "event_data": 0,
            "lease": None,
            "session": "required",
            "on_exists": "duplicate",
        },
        "manual": {
            **_NO_RECORDS,
            "lease": None,
            "session": "none",
            "returns": "back",
            "on_exists": "duplicate",
        },
        "ring": {
            **_NO_RECORDS,
            "lease": 30,
            "session": "none",
            "on_exists": "reject",
            "ingress": "id",
        },
    }
)


def to_wire(name: str, value: Value) -> str:
    """Convert a setting to the form that the server stores.

    Raises InvalidArgument if the setting does not exist or does not allow this value.
    """
    setting = known(name)
    if value is None:
        if setting.optional:
            return "none"
        raise InvalidArgument(f"{name} cannot be None; unset {name} to restore the default")
    if setting.kind == "span":
        return str(milliseconds(name, value))
    if setting.kind == "flag" and isinstance(value, bool):
        return str(int(value))
    if setting.kind == "count" and isinstance(value, int) and not isinstance(value, bool):
        return str(whole(name, value, 0, LARGEST_COUNT))
    if setting.kind == "rate":
        return rate_to_wire(name, value)
    if setting.kind == "choice" and value in setting.choices:
        return str(value)
    wanted = " or ".join(map(repr, setting.choices)) or f"a {setting.kind}"
    raise InvalidArgument(f"{name} must be {wanted}, not {shown(value)}")


def from_wire(name: str, stored: str) -> Value:
    """Convert a stored setting to the form that users read, with durations in seconds."""
    setting = SETTINGS[name]
    if setting.optional and stored == "none":
        return None
    if setting.kind == "span":
        return int(stored) / 1000
    if setting.kind == "count":
        return int(stored)
    if setting.kind == "rate":
        return rate_from_wire(stored)
    if setting.kind == "flag":
        return stored == "1"
    return stored


def rate_to_wire(name: str, value: object) -> str:
    """Convert a rate to the form that the server stores: starts/milliseconds."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidArgument(
            f"{name} must be a number per interval, such as '10/s', '100/m' or '5/10s' "
            f"(units: ms, s, m, h, d), not {shown(value)}"
        )
    starts, interval = int(found[1]), int(found[2] or 1) * UNITS[found[3]]
    if starts > LARGEST_RATE or not 0 < interval <= 366 * UNITS["d"]:
        raise InvalidArgument(
            f"{name} must be at most {LARGEST_RATE} per interval of 1 ms to 366 days, not {value!r}"
        )
    return f"{starts}/{interval}"


def rate_from_wire(stored: str) -> str:
    """Convert a stored rate to the form that users write, in the largest possible unit."""
    starts, _, interval = stored.partition("/")
    ms = int(interval)
    unit = next(name for name in reversed(UNITS) if ms % UNITS[name] == 0)
    number = ms // UNITS[unit]
    return f"{starts}/{'' if number == 1 else number}{unit}"


def known(name: str) -> Setting:
    """Return the setting with this name, or raise InvalidArgument."""
    try:
        return SETTINGS[name]
    except (KeyError, TypeError):
        raise InvalidArgument(
            f"there is no setting {shown(name, 60)}; the settings are {', '.join(SETTINGS)}"
        ) from None


def default(name: str) -> Value:
    """Return the default of a setting in the form that users read."""
    return from_wire(name, to_wire(name, known(name).default))


def lua_defaults() -> str:
    """Generate the Lua file `lib/defaults`: a variable per default, and a table of all defaults."""
    values = {name: _literal(to_wire(name, setting.default)) for name, setting in SETTINGS.items()}
    each = "".join(f"local DEFAULT_{name.upper()} = {value}\n" for name, value in values.items())
    fields = ", ".join(f"{name} = {value}" for name, value in values.items())
    return f"{each}local DEFAULTS = {{ {fields} }}\n"


def _literal(stored: str) -> str:
    if stored == "none":
        return "false"
    return stored if stored.lstrip("-").isdigit() else f"'{stored}'"
