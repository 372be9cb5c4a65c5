"""The environment of all trials: the servers, a directory, and the amount of work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.comparison.competitors import Competitor, Load
from benchmarks.comparison.servers import Server
from benchmarks.comparison.trial import Trial


@dataclass(frozen=True)
class Effort:
    """The amount of work per workload; slow competitors stop after `seconds` and do less."""

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
    """One server of each kind, shared by all competitors."""

    servers: Mapping[str, Server]
    directory: Path
    effort: Effort
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def trial(self, competitor: Competitor, jobs: int, load: Load | None = None) -> Trial:
        """Return a trial on an empty server, in an empty directory."""
        server = self.servers[competitor.server]
        server.clear()
        return self.trial_on(server, competitor, jobs, load)

    def trial_on(
        self, server: Server, competitor: Competitor, jobs: int, load: Load | None = None
    ) -> Trial:
        """Return a trial on the given server, in an empty directory."""
        directory = self.directory / str(next(self.numbers))
        directory.mkdir()
        return Trial(competitor, server, directory, jobs, load)
