"""The harness of the models: scripts with swapped parts, twins, and tests of planted faults.

A model is a plain Python version of some scripts. A `Twin` runs each step on a server and on the
model and compares the results. A walk is a fixed sequence of steps. A planted fault is a small
change of one Lua file; the walks and checks must notice every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, Self, TypeVar
from uuid import uuid4

import msgspec
import pytest
from redis.exceptions import ResponseError

import headrace
from headrace import HeadraceError
from headrace.engine.call import Call
from headrace.engine.script import Library, source
from headrace.engine.timestamps import moment
from headrace.operations.requests import ask_one
from headrace.testing import START, Clock, settable_clock
from headrace.transport.drive import drive
from tests.support.dump import dump
from tests.support.effort import sampled

Swaps = dict[str, str]
Check = Callable[[str, Swaps], None]

START_MS = round(START.timestamp() * 1000)

# The commands that call an operation.
CALLS = (b"FCALL", b"FCALL_RO")

# A swap that disables the short paths of put, pop and complete.
GENERAL_PATH: Swaps = {"short_path_enabled": "local SHORT_PATH = false\n"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault to plant: its name, a Lua file, the text to replace, and the faulty text."""

    name: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return self.name

    def swaps(self) -> Swaps:
        """Return the swaps for a Library that has this fault."""
        text = source(self.file).text
        times = text.count(self.old)
        assert times == 1, (
            f"{self.old!r} occurs {times} times in {self.file}.lua, not once: "
            "plant the same fault in the new code"
        )
        return {self.file.removeprefix("lib/"): text.replace(self.old, self.new)}


# clients whose scripts have swapped parts


@cache
def library(swaps: tuple[tuple[str, str], ...] = ()) -> Library:
    """Return the scripts with a settable clock and these swaps, composed once per process."""
    return Library(swaps={**settable_clock()._swaps, **dict(swaps)})


def opened(url: str, swaps: Swaps | None = None) -> tuple[headrace.Client, Clock]:
    """Return a client with swapped scripts on a namespace of its own, and its clock."""
    scripts = library(tuple((swaps or {}).items()))
    client = headrace.connect(url, namespace=f"test-{uuid4().hex[:12]}", library=scripts)
    return client, Clock(client)


def snapshot(hr: headrace.Client) -> dict[bytes, Any]:
    """Return every key of the namespace with its content.

    Job records are decoded: a table of Lua has no order, so equal jobs may differ in their bytes.
    Remembered answers are sorted: a large hash has another order after each read while it grows.
    """
    [names] = hr.core.transport.send([(0, ("KEYS", hr.core.key(0, "*")))])
    reads = [(_read_command(name), name) for name in names]
    contents = hr.core.transport.send([(0, read) for read in reads])
    return {
        name: _CONTENT[command](content)
        for (command, name), content in zip(reads, contents, strict=True)
    }


_CONTENT: dict[str, Callable[[Any], Any]] = {
    "GET": msgspec.msgpack.decode,
    "HGETALL": lambda words: sorted(zip(words[::2], words[1::2], strict=True)),
    "DUMP": lambda dumped: dumped,
}


def _read_command(name: bytes) -> str:
    if b"}:job:" in name:
        return "GET"
    return "HGETALL" if name.endswith(b"answers") else "DUMP"


class RepeatingConnection:
    """A transport that sends every call of an operation twice while `on` is set.

    The client receives the answer to the second call, as if the first answer was lost. The second
    call must change nothing, unless `compare` is False or `may_change` names the operation.
    """

    MOST_CALLS = 200

    def __init__(
        self, hr: headrace.Client, *, compare: bool = True, may_change: Collection[str] = ()
    ) -> None:
        self._hr = hr
        self._pool = hr.core.transport
        self._compare = compare
        self._may_change = {hr.core.library.operations[op].function for op in may_change}
        self.on = False
        self.between: Callable[[], None] | None = None
        self.sent = 0
        hr.core.transport = self

    def send(self, commands: list[Any]) -> list[Any]:
        replies: list[Any] = list(self._pool.send(commands))
        if commands[0][1][0] not in CALLS:
            return replies
        self.sent += 1
        assert self.sent < self.MOST_CALLS, "the operation does not terminate"
        if not self.on or any(isinstance(reply, Exception) for reply in replies):
            return replies
        if self.between:
            between, self.between = self.between, None
            self.on = False
            between()
            self.on = True
        return self._repeat(commands)

    def _repeat(self, commands: list[Any]) -> list[Any]:
        before = dump(self._hr) if self._compare else None
        replies: list[Any] = list(
            self._pool.send([(shard, repeated_words(words)) for shard, words in commands])
        )
        if self._compare and commands[0][1][1] not in self._may_change:
            self.on = False
            assert dump(self._hr) == before, "a repeated call had a second effect"
            self.on = True
        return replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def repeated_words(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a command marked as repeated, if the command calls an operation without a nonce."""
    if words[0] not in CALLS or words[4].startswith(b"n"):
        return words
    return (*words[:4], b"60000", *words[5:])


# twins


class Timed(Protocol):
    """A model with a clock in milliseconds."""

    now: int


M = TypeVar("M", bound=Timed)


class Twin(Generic[M]):
    """A namespace on a server and its model; subclasses run steps on both and compare them."""

    def __init__(self, url: str, model: M, swaps: Swaps | None = None) -> None:
        self.url = url
        self.hr, self.clock = opened(url, swaps)
        self.model = model
        self.made = 0
        self.closing = ExitStack()
        self.closing.callback(self.hr.close)
        self.clock.set(moment(model.now))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()

    def new(self, kind: str) -> str:
        """Return a name that was not used before."""
        self.made += 1
        return f"{kind}{self.made}"

    def ask(self, call: Call[Any]) -> Any:
        """Return the server's answer to one call."""
        return drive(self.hr.core.transport, ask_one(self.hr.core, 0, call))

    def ask_again(self, call: Call[Any]) -> Any:
        """Repeat a call, as a client does after a lost answer; the repeat must change nothing."""
        before = snapshot(self.hr)
        [reply] = self.hr.core.transport.send([(0, self.hr.core.words(0, call, again=True))])
        assert not isinstance(reply, Exception), reply
        assert snapshot(self.hr) == before, f"a repeated {call.op} had a second effect"
        return reply

    def set_clock(self, now: int) -> None:
        self.model.now = now
        self.clock.set(moment(now))

    def tick(self, ms: int) -> None:
        """Move the clocks of server and model, also backwards."""
        self.set_clock(self.model.now + ms)

    def roles_left(self) -> set[str]:
        """Return the roles of all keys of the namespace: the first part of their names."""
        return {key.partition("}:")[2].partition(":")[0] for key in dump(self.hr)}


# planted faults

# The exceptions with which a check reports a fault. The second comes from pytest.raises.
COMPLAINTS: tuple[type[BaseException], ...] = (
    AssertionError,
    pytest.fail.Exception,
    HeadraceError,
    ResponseError,
)


def named(name: str, check: Check) -> Check:
    """Return the check under a name, which becomes the id of its test."""

    def run(url: str, swaps: Swaps) -> None:
        check(url, swaps)

    run.__name__ = name
    return run


def complaint(
    url: str, swaps: Swaps, checks: Sequence[Check], complaints: tuple[type[BaseException], ...]
) -> str:
    """Return the report of the first failing check, or an empty text if all checks pass."""
    for check in checks:
        try:
            check(url, swaps)
        except complaints as found:
            return f"{check.__name__}: {found!r}"
    return ""


def on_the_general_path(check: Check) -> Check:
    """Return the same check for scripts that take the general path."""
    name = f"{check.__name__} on the general path"
    return named(name, lambda url, swaps: check(url, {**swaps, **GENERAL_PATH}))


def planted(
    faults: Sequence[Fault],
    walks: Sequence[Check],
    checks: Sequence[Check] = (),
    *,
    both_paths: bool = False,
    also_raised: tuple[type[BaseException], ...] = (),
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return two tests: all walks and checks pass, and they catch each planted fault.

    The first test runs the walks on the short path and on the general path. The second test runs
    the walks on the short path, and if `both_paths` is set also on the general path. `also_raised`
    are exceptions of the model that also report a fault, such as a KeyError for an unexpected job.
    """
    general = [on_the_general_path(walk) for walk in walks]
    catching = [*walks, *(general if both_paths else []), *checks]

    @pytest.mark.parametrize("check", [*walks, *general, *checks], ids=lambda check: check.__name__)
    def test_scripts_without_a_fault_pass(url: str, check: Check) -> None:
        check(url, {})

    @pytest.mark.slow
    @pytest.mark.parametrize("fault", sampled(faults))
    def test_planted_fault_is_caught(private_url: str, fault: Fault) -> None:
        raised = (*COMPLAINTS, *also_raised)
        assert complaint(private_url, fault.swaps(), catching, raised) != ""

    return test_scripts_without_a_fault_pass, test_planted_fault_is_caught
