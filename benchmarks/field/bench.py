"""What turns are made of: the server, a directory, and how much is to be done."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.field.contestants import Contestant, Load
from benchmarks.field.servers import Server
from benchmarks.field.turn import Turn


@dataclass(frozen=True)
class Effort:
    """How much of each is done; what is slow is given `seconds`, and does less."""

    rounds: int = 3
    seconds: float = 2.0
    jobs: int = 20_000
    latencies: int = 100
    naps: int = 2_000
    burns: int = 200
    idle_seconds: float = 5.0
    steps: int = 1_000
    backlog: int = 1_000_000
    pops: int = 4_000


QUICK = Effort(rounds=1, seconds=2, jobs=10_000, latencies=50, burns=40, idle_seconds=5, pops=500)


@dataclass
class Bench:
    """One server for all who need the same."""

    servers: Mapping[str, Server]
    home: Path
    effort: Effort
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def turn(self, who: Contestant, jobs: int, load: Load | None = None) -> Turn:
        """A turn on an empty server, in an empty directory."""
        server = self.servers[who.server]
        server.clear()
        return self.turn_on(server, who, jobs, load)

    def turn_on(self, server: Server, who: Contestant, jobs: int, load: Load | None = None) -> Turn:
        """A turn on a server of its own."""
        home = self.home / str(next(self.numbers))
        home.mkdir()
        return Turn(who, server, home, jobs, load)
