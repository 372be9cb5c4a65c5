"""The supervisor starts worker processes, renews their sessions and replaces dead processes.

The supervisor runs no code of the app, so no task can delay the renewal of a session. A busy
process keeps its jobs, even while a task holds the interpreter lock of the process. A dead or
stopped process loses its jobs. The supervisor forks the processes before the supervisor starts
anything else, so that the processes share the supervisor's memory.
"""

from __future__ import annotations

import logging
import os
import secrets
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from headrace.client.client import Client
from headrace.engine.script import LIBRARY
from headrace.errors import HeadraceError, SessionEnded
from headrace.operations import sessions
from headrace.operations.sessions import default_worker_name
from headrace.retry_pause import RetryPause
from headrace.transport.drive import drive
from headrace.worker import process
from headrace.worker.leases import RENEWALS, end_dead_worker
from headrace.worker.logs import log_event
from headrace.worker.meter import Meter
from headrace.worker.poison import StartedJobs
from headrace.worker.process import DRAINED, RECYCLED, SERVER_AWAY, UNUSABLE
from headrace.worker.session_keeper import SessionKeeper
from headrace.worker.settings import WorkerSettings
from headrace.worker.supervised_process import (
    START,
    ChildProcess,
    PipeEnds,
    Place,
    connect_for_sessions,
    is_stopped,
)

FIRST_PAUSE = 0.5
# The longest pauses, in seconds, before the supervisor replaces a process: after a failed start
# and after a crash.
LONGEST_START_PAUSE, LONGEST_CRASH_PAUSE = 30.0, 2.0
# If a process has lived for this many seconds, its start was successful.
LIVED_SECONDS = 10.0
LONGEST_WAIT = 1.0


class Supervisor:
    """Runs the configured number of worker processes until a signal stops the supervisor.

    `Supervisor(WorkerSettings(app="shop.tasks:app")).run()` does what `headrace work` does.
    """

    def __init__(self, settings: WorkerSettings, meter: Meter | None = None) -> None:
        self._settings = settings
        self._meter = meter
        self._children: dict[int, ChildProcess] = {}
        self._clients: dict[Place, Client] = {}
        self._keepers: dict[Place, SessionKeeper] = {}
        self._stops_received = 0
        self._stops_logged = 0
        # An outage is logged once, not at every failed renewal.
        self._server_answers = True
        self._ever_worked = False
        self._start_pause = RetryPause(FIRST_PAUSE, LONGEST_START_PAUSE)
        self._crash_pause = RetryPause(FIRST_PAUSE, LONGEST_CRASH_PAUSE)
        self._start_at = [0.0] * settings.processes
        self._renew_at = 0.0
        self._exit_code = 0
        self._wake_read_end, self._wake_write_end = os.pipe()

    def run(self) -> int:
        """Supervise the processes until SIGTERM or SIGINT, and return the exit code."""
        # Compose the library before the fork, so that no process has to compose the library.
        LIBRARY.compose()
        os.set_blocking(self._wake_write_end, False)
        os.set_blocking(self._wake_read_end, False)
        signal.set_wakeup_fd(self._wake_write_end, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._children or not self._stopping:
            self._start_missing()
            self._wait()
            self._reap()
            self._pass_on_stops()
            self._renew()
            if self._meter is not None:
                self._meter.keep_serving()
        return self._exit_code

    @property
    def _stopping(self) -> bool:
        return self._stops_received > 0

    def _on_signal(self, *_: object) -> None:
        # The main loop forwards the stop to the children. This handler would miss a process that is
        # just being forked, because the process is not in `_children` yet.
        self._stops_received += 1

    def _pass_on_stops(self) -> None:
        received = self._stops_received
        if self._stops_logged < received:
            self._stops_logged = received
            what = "waiting for running jobs" if received == 1 else "releasing all jobs"
            log_event(logging.INFO, f"shutting down: {what}")
        for child in self._children.values():
            while child.stops_sent < received:
                child.send_stop(self._settings.drain)
            if time.monotonic() > child.kill_at and not child.killed:
                child.killed = True
                log_event(
                    logging.WARNING,
                    f"worker process did not stop in time; sent SIGKILL (pid {child.pid})",
                    worker=child.name,
                )
                os.kill(child.pid, signal.SIGKILL)

    # processes

    def _start_missing(self) -> None:
        while (
            not self._stopping
            and len(self._children) < self._settings.processes
            and time.monotonic() >= self._start_at[0]
        ):
            self._start_at = [*self._start_at[1:], 0.0]
            self._fork()

    def _fork(self) -> None:
        name = f"{default_worker_name()}-{secrets.token_hex(3)}"
        their_read_end, our_write_end = os.pipe()
        our_read_end, their_write_end = os.pipe()
        # The child must not run the signal handlers of the supervisor.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
        used = {child.slot for child in self._children.values()}
        slot = min(set(range(self._settings.processes)) - used)
        started_jobs = StartedJobs(self._settings.concurrency)
        theirs = PipeEnds(their_read_end, their_write_end)
        ours = PipeEnds(our_read_end, our_write_end)
        pid = os.fork()
        if pid == 0:
            self._become_child(name, theirs, ours, slot, started_jobs)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._children[pid] = ChildProcess(name, pid, ours, slot, started_jobs)

    def _become_child(
        self, name: str, pipes: PipeEnds, other_ends: PipeEnds, slot: int, started_jobs: StartedJobs
    ) -> None:
        """Run the worker process in the forked child. This method never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
            other_ends.close()
            os.close(self._wake_read_end)
            os.close(self._wake_write_end)
            # If this child kept the pipes of other children open, the other children would not
            # notice the supervisor's death.
            for child in self._children.values():
                child.pipes.close()
            code = process.main(name, self._settings, pipes, slot, self._meter, started_jobs)
        except BaseException:
            logging.getLogger("headrace.worker").exception("worker %s crashed", name)
        finally:
            # os._exit ends the process even if threads are still running.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            if child is not None:
                child.pipes.close()
                if self._meter is not None:
                    self._meter.process_ended(child.slot)
                self._settle(child, os.waitstatus_to_exitcode(status))
                child.started_jobs.close()

    def _settle(self, child: ChildProcess, code: int) -> None:
        """End the session of an exited process, so that the server redelivers the jobs at once."""
        died = code not in (DRAINED, RECYCLED) and not child.killed
        if child.session is not None and child.hello is not None:
            client = self._client(child.hello.place)
            if died:
                self._try(partial(end_dead_worker, client, child.name, child.started_jobs.ids()))
            else:
                self._try(partial(drive, client.core.transport, sessions.end(child.session)))
        if code == UNUSABLE and not self._ever_worked:
            self._exit_code = 1
            self._stops_received = max(1, self._stops_received)
        elif died and not self._stopping:
            pause = self._crash_pause if child.is_working else self._start_pause
            if time.monotonic() - child.started_at >= LIVED_SECONDS:
                pause.reset()
            seconds = pause.next_pause()
            self._start_at[0] = time.monotonic() + seconds
            if code not in (SERVER_AWAY, UNUSABLE):
                log_event(
                    logging.ERROR,
                    f"worker process died; starting another in {seconds:g} s",
                    worker=child.name,
                    pid=child.pid,
                    code=code,
                )

    # sessions

    def _wait(self) -> None:
        starts = [] if self._stopping else [at for at in self._start_at if at]
        until = min([self._renew_at, *starts])
        seconds = max(0.0, min(LONGEST_WAIT, until - time.monotonic()))
        by_pipe = {child.pipes.read_end: child for child in self._children.values()}
        waiting = [r for r, child in by_pipe.items() if child.hello is None]
        readable, _, _ = select.select([self._wake_read_end, *waiting], [], [], seconds)
        for number in readable:
            if number == self._wake_read_end:
                with suppress(BlockingIOError):
                    os.read(self._wake_read_end, 4096)
            elif by_pipe[number].read():
                self._keep_sessions([by_pipe[number]])

    def _renew(self) -> None:
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + self._settings.ttl / RENEWALS
        children = [child for child in self._children.values() if not is_stopped(child.pid)]
        self._keep_sessions(children)

    def _keep_sessions(self, children: list[ChildProcess]) -> None:
        """Renew the sessions of children, and start the sessions that are not alive."""
        by_place = defaultdict[Place, list[ChildProcess]](list)
        for child in children:
            if child.hello is not None:
                by_place[child.hello.place].append(child)
        for place, some in by_place.items():
            self._try(partial(self._keep_at, place, some))

    def _keep_at(self, place: Place, children: list[ChildProcess]) -> None:
        client = self._client(place)
        kept = [child.keep_session(client.core, self._settings.ttl) for child in children]
        ended, failure = self._keepers[place].keep(kept)
        for worker in sorted({session.worker for session in ended}):
            log_event(logging.WARNING, "session expired; started a new one", worker=worker)
        for child, session in zip(children, kept, strict=True):
            if session.started and not child.is_working:
                child.is_working = self._ever_worked = True
                queues = ",".join(session.queues)
                log_event(logging.INFO, "working", worker=child.name, queues=queues)
                child.send(START)
        if failure is not None:
            raise failure

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
            if not self._server_answers:
                log_event(logging.INFO, "server answers again; renewed the sessions")
            self._server_answers = True
        except SessionEnded:
            pass
        except HeadraceError as error:
            if self._server_answers:
                log_event(logging.WARNING, "cannot renew sessions; retrying", reason=error)
            self._server_answers = False

    def _client(self, place: Place) -> Client:
        if place not in self._clients:
            self._clients[place] = connect_for_sessions(*place)
            self._keepers[place] = SessionKeeper(self._clients[place])
        return self._clients[place]
