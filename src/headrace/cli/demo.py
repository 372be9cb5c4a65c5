"""`demo`: the life of a few jobs, also with a worker that dies, on the embedded server."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import headrace
from headrace.cli.server import HERE, Directory
from headrace.cli.show import AsJson
from headrace.client import embedded
from headrace.errors import HeadraceError, SessionEnded

if TYPE_CHECKING:
    from rich.console import Console

    from headrace import Client, Event, Lease

NAMESPACE = "demo"
QUEUE = "mail"
SESSION = 1.0
RETRY_IN = 0.3
PATIENCE = 5.0

NEXT = (
    ("{headrace} up", "start a server that stays; headrace.connect() finds it"),
    ("README.md", "the same in Python, in five minutes"),
    ("{headrace} down", "stop the server; its data stays"),
)


def demo(*, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Show the life of a few jobs, also with a worker that dies, in about two seconds.

    It uses the embedded server, in a namespace of its own that is emptied first, and stops the
    server at the end if it had to start it and nobody else has come to use it.
    """
    # Here, because the other commands do not wait for it to be loaded.
    from rich.console import Console  # noqa: PLC0415

    console = Console(quiet=as_json, highlight=False)
    with _server(directory) as url, headrace.connect(url, namespace=NAMESPACE) as hr:
        told = Story(hr, console).tell()
    if as_json:
        typer.echo(json.dumps(told, default=str))
    else:
        _say_what_next(console)


@contextmanager
def _server(directory: Path) -> Iterator[str]:
    """The embedded server, which runs afterwards only if it ran before or others use it by then."""
    ran_before = embedded.status(directory) is not None
    try:
        yield embedded.start(directory)
    finally:
        if not ran_before and not _used_by_others(directory):
            embedded.stop(directory)


def _used_by_others(directory: Path) -> bool:
    from redis import Redis, RedisError  # noqa: PLC0415 - only here

    status = embedded.status(directory)
    if status is None:
        return False
    with suppress(RedisError), Redis.from_url(status.url) as server:
        return int(server.info("clients")["connected_clients"]) > 1
    return False


def _say_what_next(console: Console) -> None:
    # Where nobody has activated the environment, the bare name would not be found.
    bare = shutil.which("headrace") or Path(sys.argv[0]).name != "headrace"
    rows = [(what.format(headrace="headrace" if bare else sys.argv[0]), why) for what, why in NEXT]
    width = max(len(what) for what, _ in rows)
    console.print("\n[bold]What to try next[/bold]")
    for what, why in rows:
        console.print(f"  {what:<{width}}    {why}", soft_wrap=True)


class Story:
    """What happens in the demo, step by step."""

    def __init__(self, hr: Client, console: Console) -> None:
        self.hr = hr
        self.mail = hr.queue(QUEUE)
        self.console = console
        self.steps: list[dict[str, str]] = []

    def tell(self) -> dict[str, object]:
        """Runs it all; what a program may want to know of it."""
        self._empty()
        before = max((event.number for event in self.hr.events()), default=0)
        with self.hr.session("ann", ttl=60):
            self._a_good_day()
            self._failures()
            self._a_death()
        self._sums()
        events = [event for event in self.hr.events() if event.number > before]
        self._show(events)
        audit = self.hr.audit()
        if not audit.balanced:
            raise HeadraceError(f"the books do not balance: {'; '.join(audit.problems)}")
        self._say("audit", f"{audit.jobs} jobs looked at, the books balance")
        return {
            "steps": self.steps,
            "counts": asdict(self.mail.counts()),
            "events": [_plain(event) for event in events],
            "audit": {**asdict(audit), "balanced": audit.balanced},
        }

    def _empty(self) -> None:
        for worker in self.hr.workers():
            with suppress(SessionEnded):
                self.hr.end_worker(worker.name)
        for name in self.hr.queues():
            self.hr.queue(name).delete()

    def _say(self, step: str, words: str) -> None:
        self.steps.append({"step": step, "says": words})
        self.console.print(f"[bold cyan]{step:<10}[/bold cyan] {words}")

    def _pop(self, worker: str, meanwhile: str) -> Lease:
        """The next job, waited for while the terminal shows why."""
        with self.console.status(meanwhile):
            leases = self.mail.pop(worker, wait=PATIENCE)
        if not leases:
            raise HeadraceError(f"no job came for {worker}: does another demo run here?")
        return leases[0]

    def _a_good_day(self) -> None:
        for name in ("letter-1", "letter-2"):
            self.mail.put({"to": "ada"}, id=name)
        self.mail.put({"to": "grace"}, id="urgent", priority=-1, tags=["vip"])
        self._say("put", "two letters, then an urgent one with priority -1")
        urgent = self._pop("ann", "ann looks for work")
        self._say("pop", f"ann gets {urgent.id}: it went before the others")
        urgent.heartbeat(lease_for=120)
        urgent.progress(0.5, "in the envelope")
        self._say("heartbeat", "ann renews her lease and says how far she is")
        urgent.complete({"stamp": 42})
        result = self.hr.result(urgent.id).value
        self._say("complete", f"{urgent.id} is complete, its result is {result}")

    def _failures(self) -> None:
        letter = self._pop("ann", "ann looks for work")
        letter.fail("post office closed", "opens at nine", retry_in=RETRY_IN)
        self._say("fail", f"{letter.id} failed and is tried again in {RETRY_IN} seconds")
        letter = self._pop("ann", "ann looks for work")
        letter.fail("no such street", "is it spelled right?")
        self._say("fail", f"{letter.id} failed for good: {self.hr.failures()}")
        self.hr.retry(failure="no such street")
        self._say("retry", f"an operator lets {letter.id} be tried again")

    def _a_death(self) -> None:
        self.hr.session("bob", ttl=SESSION)
        lost = self._pop("bob", "bob looks for work")
        self._say("die", f"bob takes {lost.id} and is never heard of again")
        letter = self._pop("ann", "ann waits for the letter that is to be tried again")
        letter.complete()
        self._say("complete", f"{letter.id} is complete, on attempt {letter.attempt}")
        letter = self._pop("ann", "ann waits; bob's session lapses after a second")
        letter.complete()
        self._say(
            "recover", f"ann was given {letter.id} and completed it, on attempt {letter.attempt}"
        )

    def _sums(self) -> None:
        counts, stats = self.mail.counts(), self.mail.stats()
        self._say("counts", f"{counts.complete} complete, {counts.length} left to do")
        self._say(
            "stats",
            f"today: {stats.wait.count} pops, {stats.failures} failure, {stats.retries} retries",
        )

    def _show(self, events: list[Event]) -> None:
        from rich.table import Table  # noqa: PLC0415

        table = Table("event", "job", "attempt", "worker", "why")
        for event in events:
            why = event.failure or event.reason or ""
            table.add_row(event.kind, event.job_id, str(event.attempt), event.worker, why)
        self.console.print(table)


def _plain(event: Event) -> dict[str, object]:
    """An event without what has no value, its data as text."""
    plain = {name: value for name, value in asdict(event).items() if value not in (None, "")}
    if event.data is not None:
        plain["data"] = event.data.decode()
    return plain
