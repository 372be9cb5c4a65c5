"""The threads of a Worqr: they keep its workers alive, receive notices and call handlers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any

from headrace.compat.worqr.notices import Notice, waiting_notice
from headrace.errors import HeadraceError, SessionEnded
from headrace.operations import sessions
from headrace.operations.core import Core
from headrace.operations.housekeeping import sweep
from headrace.operations.listening import ListeningState, receive
from headrace.operations.queues import QueueRef
from headrace.operations.requests import LONGEST_PAUSE
from headrace.transport.drive import drive

Handler = Callable[[str, Any], object]

log = logging.getLogger("headrace")


@dataclass(slots=True)
class LocalWorker:
    """A worker that this Worqr started, and the queues it works on."""

    core: Core
    worker: str
    token: str
    queues: set[str] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)


class WorqrBackground:
    """The workers, subscriptions and handlers of a Worqr, and the threads that serve them.

    There is one thread for each worker and for each queue, and one that calls the handlers.
    """

    def __init__(self, core: Core, heartbeat: float, cleanup: float) -> None:
        self.core = core
        self.workers: dict[str, LocalWorker] = {}
        self.subscriptions: dict[str, ListeningState[Notice]] = {}
        self.handlers: dict[str, list[Handler]] = {}
        self._heartbeat = min(heartbeat, cleanup)
        self._cleanup = cleanup
        self._lock = threading.RLock()
        self._threads: list[threading.Thread] = []
        self._notices: SimpleQueue[tuple[str, str, Any] | None] = SimpleQueue()
        self._notifier: threading.Thread | None = None

    def worker(self, name: str) -> LocalWorker:
        """Return a worker. Raises SessionEnded if it was not started here or has ended."""
        try:
            return self.workers[name]
        except KeyError:
            raise SessionEnded(name) from None

    def add_worker(self, worker: LocalWorker) -> None:
        """Keep a worker alive from now on, in place of a former one of this name."""
        with self._lock:
            former = self.workers.get(worker.worker)
            if former is not None:
                self.remove_worker(former)
            self.workers[worker.worker] = worker
            self._start_thread(f"worker {worker.worker}", partial(self._keep_alive, worker))

    def remove_worker(self, worker: LocalWorker) -> None:
        """Stop keeping a worker alive."""
        worker.ended.set()
        with self._lock:
            if self.workers.get(worker.worker) is worker:
                del self.workers[worker.worker]
        self.drop_unused_subscriptions()

    def add_subscription(self, queue: str, state: ListeningState[Notice]) -> None:
        """Deliver the notices of a queue to its handlers; end a second subscription to a queue."""
        with self._lock:
            if self.subscriptions.setdefault(queue, state) is state:
                self._start_thread(f"queue {queue}", partial(self._deliver, queue, state))
                return
        _end(state)

    def drop_unused_subscriptions(self) -> None:
        """End the subscriptions to queues that no worker of this Worqr works on."""
        with self._lock:
            used = {queue for worker in self.workers.values() for queue in worker.queues}
            unused = [self.subscriptions.pop(queue) for queue in {*self.subscriptions} - used]
        for state in unused:
            _end(state)

    def notify(self, queue: str, kind: str, message: Any) -> None:
        """Call the handlers of a queue one after another, in a thread of their own."""
        if not self.handlers.get(queue):
            return
        with self._lock:
            if self._notifier is None:
                self._notifier = self._start_thread("handlers", self._call_handlers)
        self._notices.put((queue, kind, message))

    def close(self, *, end_sessions: bool) -> None:
        """Stop all threads. End the sessions of the workers too, except of permanent ones."""
        for worker in list(self.workers.values()):
            self.remove_worker(worker)
            if end_sessions:
                with suppress(HeadraceError):
                    drive(self.core.transport, sessions.end(worker))
        self._join([thread for thread in self._threads if thread is not self._notifier])
        # The threads that could notify have ended, so the notifier can end too.
        notifier, self._notifier = self._notifier, None
        if notifier is not None:
            self._notices.put(None)
            self._join([notifier])

    def _join(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(self.core.timeout)

    def _start_thread(self, name: str, function: Callable[[], None]) -> threading.Thread:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=function, name=f"headrace {name}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _keep_alive(self, worker: LocalWorker) -> None:
        swept = time.monotonic()
        while not worker.ended.wait(self._heartbeat):
            if self.core.transport.closings:
                log.warning("worker %r is not kept alive: its client is closed", worker.worker)
                self.remove_worker(worker)
                return
            try:
                drive(self.core.transport, sessions.renew(worker))
                if time.monotonic() >= swept + self._cleanup:
                    swept = time.monotonic()
                    drive(self.core.transport, sweep(worker))
            except SessionEnded:
                log.warning("session of worker %r ended: it must restart", worker.worker)
                self.remove_worker(worker)
            except HeadraceError as error:
                log.warning("cannot renew the session of worker %r: %s", worker.worker, error)

    def _deliver(self, queue: str, state: ListeningState[Notice]) -> None:
        transport = self.core.transport
        target = QueueRef(self.core, queue)
        while not state.ended:
            try:
                # After a silence, check for work that waits: a notice may have been lost.
                notices = drive(transport, receive(state)) or drive(
                    transport, waiting_notice(target)
                )
            except HeadraceError as error:
                if not state.ended:
                    log.warning("cannot receive notices of queue %r: %s", queue, error)
                    transport.sleep(LONGEST_PAUSE)
                continue
            for kind, message in notices:
                if not state.closed:
                    self.notify(queue, kind, message)
        if state.closed:
            # The loop may have subscribed again after the first end.
            state.subscription.end()

    def _call_handlers(self) -> None:
        while (notice := self._notices.get()) is not None:
            queue, kind, message = notice
            for handler in tuple(self.handlers.get(queue, ())):
                try:
                    handler(kind, message)
                except Exception:
                    log.exception("a handler of queue %r failed", queue)


def _end(state: ListeningState[Notice]) -> None:
    state.closed = True
    state.subscription.end()
