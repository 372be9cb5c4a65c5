"""The state and the output that the steps of the demo share."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from headrace import Client
from headrace.cli.demo.environment import DemoEnvironment, DemoWorker, DemoWorkers
from headrace.cli.output import wants_json
from headrace.demo import ShopDay
from headrace.operations.namespace_snapshot import NamespaceSnapshot, snapshot
from headrace.transport.drive import drive

LABEL = 10


@dataclass(slots=True)
class DemoRun:
    """The state that the steps of the demo share. With --json, the steps print nothing."""

    hr: Client
    environment: DemoEnvironment
    workers: DemoWorkers
    jobs: int
    day: ShopDay = field(init=False)
    snapshot: NamespaceSnapshot = field(init=False)
    dead: DemoWorker = field(init=False)
    died_at: datetime = field(init=False)
    held: list[str] = field(init=False)
    found: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    console: Console = field(default_factory=lambda: Console(quiet=wants_json(), highlight=False))

    def say(self, label: str, words: str) -> None:
        """Print lines of text after a label."""
        for at, line in enumerate(words.split("\n")):
            head = "" if at else label
            self.console.print(f"[bold cyan]{head:<{LABEL}}[/] {line}", soft_wrap=True)

    def show(self, lines: Iterable[str]) -> None:
        """Print indented lines without a label."""
        words = Text.from_ansi("\n".join(lines))
        self.console.print(Padding(words, (0, 0, 1, LABEL + 1), expand=False))

    def look(self) -> NamespaceSnapshot:
        """Take a snapshot of the namespace."""
        core = self.hr.core
        self.snapshot = drive(core.transport, snapshot(core, detailed=()))
        return self.snapshot

    @property
    def finished(self) -> int:
        """The number of jobs that were finished at the last snapshot."""
        queues = self.snapshot.queues.items()
        return sum(max(0, self.day.jobs.get(name, 0) - one.counts.length) for name, one in queues)

    @property
    def total(self) -> int:
        """The number of jobs that were put."""
        return sum(self.day.jobs.values())

    def held_by(self, worker: DemoWorker) -> int:
        """Return the number of jobs that a worker held in the last snapshot."""
        return sum(one.jobs for one in self.snapshot.workers if worker.is_named(one.name))
