"""Sessions on a server that may be away, and their model."""

from __future__ import annotations

import math
from typing import Any

from headrace import SessionEnded
from headrace.client.session import Session
from headrace.engine.script import source
from tests.model.harness import Swaps, Twin
from tests.model.outages.model import OutageModel

# A step: its name and its arguments.
Step = tuple[Any, ...]


class OutageTwin(Twin[OutageModel]):
    """Runs steps on a server, which remembers its calls, and on the model."""

    def __init__(self, url: str, swaps: Swaps | None = None) -> None:
        super().__init__(
            url, OutageModel(), {"contact": source("lib/contact").text, **(swaps or {})}
        )
        self._held: dict[str, Session] = {}
        self.restart()

    def run(self, *steps: Step) -> None:
        """Run steps, and compare the sessions and the lost jobs after each."""
        for name, *arguments in steps:
            getattr(self, name)(*arguments)
            self.compare()

    def compare(self) -> None:
        model = self.model
        alive = {worker.name: worker.expires_in for worker in self.hr.workers.list()}
        expected = {
            worker: max(0.0, (session.ends - model.now) / 1000)
            for worker, session in model.sessions.items()
        }
        assert alive == expected
        lost = [(event.worker, event.reason) for event in self.hr.events() if event.kind == "lost"]
        assert sorted(lost) == sorted(model.lost)

    # steps

    def restart(self) -> None:
        """Make the server forget its calls, as a new process."""
        library = self.hr.core.library.text
        [reply] = self.hr.core.transport.send([(0, ("FUNCTION", "LOAD", "REPLACE", library))])
        assert not isinstance(reply, Exception), reply
        self.model.restart()

    def start(self, worker: str, ttl: int) -> None:
        """Start a session, and let its worker hold a job in a queue of its own."""
        self._held[worker] = self.hr.session(worker, ttl=ttl / 1000)
        self.model.start(worker, ttl)
        queue = self.hr.queue(worker)
        if not queue.counts().waiting:
            queue.put(1)
        # The pop does the housekeeping first.
        self.model.sweep()
        assert len(queue.pop(worker, lease=math.inf)) == 1

    def renew(self, worker: str) -> None:
        """Renew the session that the worker started last, if it has started one."""
        if worker not in self._held:
            return
        try:
            found = self._held[worker].renew()
        except SessionEnded:
            found = None
        expected = self.model.renew(worker)
        assert found == (None if expected is None else expected / 1000)

    def sweep(self) -> None:
        """Let another client do the housekeeping."""
        self.hr.sweep()
        self.model.sweep()

    def put(self) -> None:
        """Let a producer make a call."""
        self.hr.queue("other").put(1)
        self.model.call()
