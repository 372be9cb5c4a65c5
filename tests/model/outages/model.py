"""A model of sessions on a server that may be away. Each worker holds one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from tests.model.harness import START_MS

GRACE = 15_000
AWAY_SHARE = 0.6
SHORTEST_GAP, GAPS_AT_MOST = 250, 16


@dataclass
class Session:
    """A session: when it was renewed, its TTL, and when it ends if it was spared."""

    renewed: int
    ttl: int
    spared_until: float = 0

    @property
    def ends(self) -> float:
        """The time when the session ends."""
        return max(self.renewed + self.ttl, self.spared_until)


@dataclass
class OutageModel:
    """The sessions of one shard, and the times at which calls reached the server process."""

    now: int = START_MS
    sessions: dict[str, Session] = field(default_factory=dict)
    # The first and the last call of the process.
    since: int | None = START_MS
    last: int = START_MS
    gaps: list[tuple[int, int]] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)

    def restart(self) -> None:
        self.since, self.gaps = None, []

    def call(self) -> None:
        """Let a call reach the server."""
        if self.since is None:
            self.since = self.now
        elif self.now - self.last >= SHORTEST_GAP:
            self.gaps = [*self.gaps, (self.last, self.now)][-GAPS_AT_MOST:]
        self.last = self.now

    def start(self, worker: str, ttl: int) -> None:
        """Start a session; an earlier session of the worker is over."""
        self.call()
        if worker in self.sessions:
            self._lose(worker, "session ended")
        self.sessions[worker] = Session(self.now, ttl)

    def renew(self, worker: str) -> int | None:
        """Return the TTL of a session that is alive, or None."""
        self.call()
        session = self.sessions.get(worker)
        if session is None or not (session.ends > self.now or self._grace_end(session)):
            return None
        session.renewed, session.spared_until = self.now, 0
        return session.ttl

    def sweep(self) -> None:
        """Spare the expired sessions of workers that could not renew them; end the others."""
        self.call()
        expired = {w: one for w, one in self.sessions.items() if one.ends <= self.now}
        for worker, session in sorted(expired.items(), key=lambda each: (each[1].ends, each[0])):
            if grace_end := self._grace_end(session):
                session.spared_until = grace_end
            else:
                self._lose(worker, "server outage" if session.spared_until else "session ended")

    def _grace_end(self, session: Session) -> float | None:
        silent_since = session.renewed
        assert self.since is not None
        backs = [self.since] if silent_since < self.since else []
        backs += [
            to
            for start, to in self.gaps
            if start <= silent_since + session.ttl
            and to - max(start, silent_since) > AWAY_SHARE * session.ttl
        ]
        grace_end = max(backs, default=-inf) + GRACE
        return grace_end if grace_end > self.now else None

    def _lose(self, worker: str, reason: str) -> None:
        del self.sessions[worker]
        self.lost.append((worker, reason))
