"""The supervisor: begins worker processes, keeps their sessions alive, replaces those that end.

It runs no code of the app, so no handler can keep it from renewing a session: a process that is
merely busy, even with the interpreter's lock held, keeps its jobs. One that is dead or stopped does
not. Processes are forked before anything else is begun, so they share its memory.
"""

from __future__ import annotations

import logging
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from headrace.client import connect as connecting
from headrace.client.client import Client
from headrace.client.lease import Lease
from headrace.engine.script import LIBRARY
from headrace.errors import HeadraceError, SessionEnded
from headrace.transport.drive import drive
from headrace.worker import process
from headrace.worker.begun import Begun
from headrace.worker.child import Child, is_stopped
from headrace.worker.logs import say
from headrace.worker.metering import Meter
from headrace.worker.notices import held_jobs
from headrace.worker.process import AWAY, BEGIN, DRAINED, RECYCLED, SCRIPTS, UNUSABLE, Line
from headrace.worker.settings import WorkerSettings

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A process that lived so long did not crash at its start; of one that worked, a job was the cause.
LIVED = 10.0
PAUSE_AFTER_WORK = 2.0
PATIENCE = 1.0
# One broken connection is not to cost a third of a session.
RETRY_FOR = 0.5


class Supervisor:
    """As many worker processes as were asked for, until a signal says to end."""

    def __init__(self, settings: WorkerSettings, meter: Meter | None = None) -> None:
        self._settings = settings
        self._meter = meter
        self._children: dict[int, Child] = {}
        self._clients: dict[tuple[str, str], Client] = {}
        self._ends_said = 0
        self._passed_on = 0
        # Whether the server answered: what goes on is said once.
        self._heard = True
        self._ever_worked = False
        self._pause = 0.0
        self._begin_at = [0.0] * settings.processes
        self._renew_at = 0.0
        self._exit_code = 0
        self._wake_reads, self._wake_writes = os.pipe()

    def run(self) -> int:
        """Works until it is told to end; the exit code."""
        for op in SCRIPTS:
            LIBRARY[op]
        os.set_blocking(self._wake_writes, False)
        os.set_blocking(self._wake_reads, False)
        signal.set_wakeup_fd(self._wake_writes, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._children or not self._stopping:
            self._begin_missing()
            self._wait()
            self._bury()
            self._pass_on()
            self._renew()
        return self._exit_code

    @property
    def _stopping(self) -> bool:
        return self._ends_said > 0

    def _on_signal(self, *_: object) -> None:
        # Passed on later: a process that is being forked right now is not among the children yet.
        self._ends_said += 1

    def _pass_on(self) -> None:
        told = self._ends_said
        if self._passed_on < told:
            self._passed_on = told
            what = "what runs may end" if told == 1 else "everything is given back"
            say(logging.INFO, f"told to end: {what}")
        for child in self._children.values():
            while child.ends_said < told:
                child.say_end(self._settings.drain)
            if time.monotonic() > child.end_by and not child.overdue:
                child.overdue = True
                say(logging.WARNING, "killed, as it does not end", worker=child.name)
                os.kill(child.pid, signal.SIGKILL)

    # processes

    def _begin_missing(self) -> None:
        while (
            not self._stopping
            and len(self._children) < self._settings.processes
            and time.monotonic() >= self._begin_at[0]
        ):
            self._begin_at.pop(0)
            self._fork()
            self._begin_at.append(0.0)

    def _fork(self) -> None:
        name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        their_reads, our_writes = os.pipe()
        our_reads, their_writes = os.pipe()
        # What is ours to do on a signal is not the child's.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
        place = min(set(range(self._settings.processes)) - self._places())
        begun = Begun(self._settings.concurrency)
        pid = os.fork()
        if pid == 0:
            theirs, ours = Line(their_reads, their_writes), Line(our_reads, our_writes)
            self._become_child(name, theirs, ours, place, begun)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(their_reads)
        os.close(their_writes)
        self._children[pid] = Child(name, pid, Line(our_reads, our_writes), place, begun)

    def _places(self) -> set[int]:
        return {child.place for child in self._children.values()}

    def _become_child(
        self, name: str, line: Line, other_end: Line, place: int, begun: Begun
    ) -> None:
        """Never returns: the end of the process is the end of this."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
            other_end.close()
            os.close(self._wake_reads)
            os.close(self._wake_writes)
            # Held open here, they would hide the end of the supervisor from the others.
            for child in self._children.values():
                child.line.close()
            code = process.main(name, self._settings, line, place, self._meter, begun)
        except BaseException:
            logging.getLogger("headrace.worker").exception("worker %s failed", name)
        finally:
            # Threads that do not end must not keep the process.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _bury(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            if child is not None:
                child.line.close()
                if self._meter is not None:
                    self._meter.gone(child.place)
                self._settle(child, os.waitstatus_to_exitcode(status))
                child.begun.close()

    def _settle(self, child: Child, code: int) -> None:
        """Ends the session of a process that is over, so that its jobs need not wait for that."""
        died = code not in (DRAINED, RECYCLED) and not child.overdue
        if child.session is not None:
            self._try(child.session.end if not died else lambda: self._end_as_dead(child))
        if code == UNUSABLE and not self._ever_worked:
            self._exit_code = 1
            self._ends_said = max(1, self._ends_said)
        elif died and not self._stopping:
            if code not in (AWAY, UNUSABLE):
                say(logging.ERROR, "a worker process died", worker=child.name, code=code)
            lived = time.monotonic() - child.since >= LIVED
            longest = LONGEST_PAUSE if child.session is None else PAUSE_AFTER_WORK
            self._pause = FIRST_PAUSE if lived else min(2 * self._pause or FIRST_PAUSE, longest)
            self._begin_at[0] = time.monotonic() + self._pause

    def _end_as_dead(self, child: Child) -> None:
        """What kills its workers must run out of retries: so this costs one, if it had begun."""
        client = self._client(child)
        begun = child.begun.ids()
        held = drive(client.core.transport, held_jobs(client.core, child.name, set()))
        innocent = [Lease(client.core, popped) for popped in held if popped.id not in begun]
        client.leases.release(innocent, position="front")
        client.workers.end(child.name)

    # sessions

    def _wait(self) -> None:
        waited_for = [] if self._stopping else [at for at in self._begin_at if at]
        until = min([self._renew_at, *waited_for])
        seconds = max(0.0, min(PATIENCE, until - time.monotonic()))
        lines = {child.line.reads: child for child in self._children.values()}
        waiting = [self._wake_reads, *(r for r, child in lines.items() if child.hello is None)]
        readable, _, _ = select.select(waiting, [], [], seconds)
        for number in readable:
            if number == self._wake_reads:
                with suppress(BlockingIOError):
                    os.read(self._wake_reads, 4096)
            elif lines[number].hear():
                self._open_session(lines[number])

    def _open_session(self, child: Child) -> None:
        def begin() -> None:
            hello = child.hello
            if hello is None:
                return
            session = self._client(child).session(child.name, ttl=self._settings.ttl)
            for queue in hello.queues:
                session.serve(queue)
            child.session = session
            say(logging.INFO, "working", worker=child.name, queues=",".join(hello.queues))
            self._ever_worked = True
            child.tell(BEGIN)

        self._try(begin)

    def _renew(self) -> None:
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + self._settings.ttl / 3
        for child in self._children.values():
            if child.session is None:
                self._open_session(child)
            elif not is_stopped(child.pid):
                self._try(child.session.renew, child)

    def _try(self, act: Callable[[], object], child: Child | None = None) -> None:
        try:
            act()
            self._heard = True
        except SessionEnded:
            if child is not None:
                say(logging.WARNING, "the session had lapsed, a new one begins", worker=child.name)
                self._open_session(child)
        except HeadraceError as error:
            if self._heard:
                say(logging.WARNING, "no session can be kept for now", why=error)
            self._heard = False

    def _client(self, child: Child) -> Client:
        hello = child.hello
        place = (hello.url, hello.namespace) if hello else ("", "default")
        if place not in self._clients:
            asked = connecting.wanted(
                place[0] or None, place[1], None, "raw", None, None, RETRY_FOR, PATIENCE
            )
            self._clients[place] = connecting.connect(asked)
        return self._clients[place]
