"""Threads that keep the workers of a Worqr alive, receive notices and call handlers."""

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
from headrace.operations.channel_listener import ListeningState, receive
from headrace.operations.core import Core
from headrace.operations.housekeeping import sweep
from headrace.operations.queues import QueueRef
from headrace.operations.requests import LONGEST_PAUSE
from headrace.transport.drive import drive

Handler = Callable[[str, Any], object]

log = logging.getLogger("headrace")


@dataclass(slots=True)
class LocalWorker:
    """A worker that this Worqr started, and the queues that the worker works on."""

    core: Core
    worker: str
    token: str
    queues: set[str] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)


class WorqrBackground:
    """The workers, subscriptions and handlers of a Worqr, and the threads that serve them.

    Each worker and each queue has its own thread, and one more thread calls the handlers.
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
        """Return a worker of this Worqr.

        Raises SessionEnded if the worker was not started or has ended.
        """
        if name not in self.workers:
            raise SessionEnded(name)
        return self.workers[name]

    def add_worker(self, worker: LocalWorker) -> None:
        """Keep a worker alive from now on; replace a former worker of the same name."""
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
        """Deliver the notices of a new subscription to the handlers of its queue.

        If the queue already has a subscription, end the new subscription (`state`).
        """
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
        """Call the handlers of a queue one after another in the handler thread."""
        if not self.handlers.get(queue):
            return
        with self._lock:
            if self._notifier is None:
                self._notifier = self._start_thread("handlers", self._call_handlers)
        self._notices.put((queue, kind, message))

    def close(self, *, end_sessions: bool) -> None:
        """Stop all threads. With `end_sessions`, also end the sessions of the workers."""
        for worker in list(self.workers.values()):
            self.remove_worker(worker)
            if end_sessions:
                with suppress(HeadraceError):
                    drive(self.core.transport, sessions.end(worker))
        self._join([thread for thread in self._threads if thread is not self._notifier])
        # All threads that could call `notify` have ended, so the handler thread can end too.
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
                log.warning("session of worker %r ended: the worker must restart", worker.worker)
                self.remove_worker(worker)
            except HeadraceError as error:
                log.warning("cannot renew the session of worker %r: %s", worker.worker, error)

    def _deliver(self, queue: str, state: ListeningState[Notice]) -> None:
        transport = self.core.transport
        target = QueueRef(self.core, queue)
        while not state.ended:
            try:
                # If no notice arrives, check for waiting tasks: a notice may have been lost.
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
            # The loop may have subscribed again after `_end` ended the subscription.
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
