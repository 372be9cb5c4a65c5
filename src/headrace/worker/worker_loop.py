"""The main loop of a worker process: pop, run and acknowledge jobs.

One round trip carries all pending acknowledgements and the next pops. Jobs run during the round
trip, so a busier worker sends more acknowledgements with each round trip.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from itertools import cycle
from typing import Any

from headrace.app.app import App
from headrace.client.client import AsyncClient
from headrace.engine.call import Call
from headrace.errors import HeadraceError, NotDurable
from headrace.operations.channel_listener import ListeningState, receive, subscribe
from headrace.operations.durability import confirmed
from headrace.operations.held_leases import Proof
from headrace.operations.lease_watch import CHECK_EVERY, LostLease, find_lost_leases
from headrace.operations.popping import SAFETY_POLL, Popped, none_if_refused, pop_call
from headrace.operations.requests import ask
from headrace.transport.drive import Operation, drive_async
from headrace.worker.acks import AckBuffer, PendingAck
from headrace.worker.event_loop import Wakeup
from headrace.worker.leases import (
    RENEWALS,
    WORK_NOTICE,
    WorkerLeases,
    held_jobs,
    lease_lengths,
    renew_leases,
    worker_notices,
)
from headrace.worker.logs import log_event, log_job, log_run
from headrace.worker.meter import Meter
from headrace.worker.poison import StartedJobs, SuspectJobs, is_suspect
from headrace.worker.runner import Runner
from headrace.worker.settings import ServedQueue, WorkerSettings
from headrace.worker.shard_groups import ShardGroup, shard_groups
from headrace.worker.sources import PREFETCH_SECONDS, Prefetch, QueueShard, QueueSources
from headrace.worker.task_call import Outcome, Run

log = logging.getLogger("headrace.worker")

NO_SESSION_PAUSE = 0.1
DUTY_RETRY_PAUSE = 1.0
SHED_SECONDS = 0.25
SETTINGS_SECONDS = 6.0
SETTINGS_AT_ONCE = 10
# Prefetched jobs that wait longer than this many seconds are released to other workers.
LONGEST_READY = 0.5

Duty = Callable[[], Awaitable[None]]


class WorkerLoop:
    """Pops, runs and acknowledges jobs under one worker name until `stop` is called."""

    def __init__(
        self,
        app: App,
        client: AsyncClient,
        name: str,
        queues: tuple[ServedQueue, ...],
        settings: WorkerSettings,
        meter: Meter | None = None,
        started_jobs: StartedJobs | None = None,
    ) -> None:
        self.name = name
        self.jobs_finished = 0
        self._client = client
        self._core = client.core
        # A pop whose reply was lost may have leased jobs. Each call is therefore repeated until the
        # server answers.
        self._core.retry_for = math.inf
        self._settings = settings
        self._queue_names = [queue.name for queue in queues]
        self._sources = QueueSources(queues, self._core.shards, weighted=settings.weighted)
        self._leases = WorkerLeases(name, self._lease_lost)
        self._acks = AckBuffer(self._core)
        self._prefetch = Prefetch(settings.concurrency)
        # The runner calls this lambda in the event loop or in the thread of a task.
        self._runner = Runner(
            app,
            settings.app,
            settings.concurrency,
            lambda popped: self._started_jobs.add(popped.id),
            self._finished,
        )
        self._meter = meter
        self._ready: deque[Popped] = deque()
        self._started_jobs = started_jobs or StartedJobs(settings.concurrency)
        self._suspects = SuspectJobs()
        self._wakeup = Wakeup()
        self._stopping = False
        self._starting = False
        self._groups = shard_groups(self._core)
        # Set when the worker is stopping and has no more jobs to run.
        self.drained = asyncio.Event()
        self._last_start = 0.0
        # Jobs start with these context variables. Otherwise a new job would inherit the context
        # variables of the finished job that made room for the new job.
        self._context = copy_context()
        self._lease_lengths: dict[str, float] = {}
        self._failure: Exception | None = None
        # The shards with a round trip under way, and the jobs that these round trips request.
        self._asked: frozenset[int] = frozenset()
        self._requested = 0
        # The jobs that the worker already knows, for each search for jobs that the server has
        # handed over.
        self._known: list[set[str]] = []
        self._pops = {
            (queue.name, offer): pop_call(client.queue(queue.name), name, 1, math.inf, offer)
            for queue in queues
            for offer in (0, SAFETY_POLL)
        }

    async def work(self) -> None:
        """Work until stop is called and every started job has finished or is released."""
        duties: list[Duty] = [self._suspect_unknown_jobs, self._read_lease_lengths, self._shed]
        for group in self._groups:
            duties += [partial(self._listen, group), partial(self._renew, group)]
        background = [asyncio.create_task(self._keep_doing(duty)) for duty in duties]
        try:
            while not self._is_over():
                self._wakeup.clear()
                self._start_ready()
                if self._meter is not None:
                    self._meter.holding(len(self._runner.running), len(self._ready))
                if not await self._make_round_trips():
                    await self._pause()
                if self._failure is not None:
                    raise self._failure
        finally:
            background += [group.task for group in self._groups if group.task is not None]
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            self._runner.close()

    def stop(self) -> None:
        """Start no more jobs, and release the jobs that have not started. Running jobs continue."""
        self._stopping = True
        if suspect := self._suspects.waiting():
            self._release(suspect)
        for popped in self._ready:
            self._release(popped)
        # Some queues remove a job when the job is popped. Such jobs exist only in this process, so
        # this process still runs them.
        self._ready = deque(popped for popped in self._ready if not _has_lease(popped))
        self._check_drained()
        self._wakeup.set()

    def release_all(self) -> None:
        """Stop at once, and also release the running jobs."""
        self.stop()
        for popped in self._ready:
            message = "job lost at shutdown: its queue removes jobs when they are popped"
            log_job(logging.ERROR, message, popped)
        self._ready.clear()
        for run in list(self._runner.running):
            self._runner.stop(run)
            self._release(run.popped)
        self._check_drained()
        self._wakeup.set()

    def has_unsent(self) -> bool:
        """Return whether the server has not yet accepted the outcomes of all jobs."""
        return bool(self._acks) or any(group.sends_acks for group in self._groups)

    def _check_drained(self) -> None:
        if self._stopping and not (self._runner.running or self._ready):
            self.drained.set()

    # one iteration of the loop

    def _is_over(self) -> bool:
        return self._stopping and not (
            self._runner.running or self._ready or self._acks or self._asked
        )

    async def _make_round_trips(self) -> bool:
        """Make a round trip with each idle group that needs one; return False if none does.

        With one group, there is nothing else to do until the round trip ends. With several groups,
        the round trips are tasks, so that an unreachable shard does not delay the other shards.
        """
        is_busy = self._is_busy()
        pops = [] if is_busy else self._next_pops()
        if len(self._groups) == 1:
            group = self._groups[0]
            exchanges = bool(pops or (self._acks and not is_busy))
            if exchanges or group.check_unknown:
                self._asked = group.shards
                await self._make_round_trip(group, pops, exchanges=exchanges)
                return True
            return False
        started = False
        for group in self._groups:
            mine = [pop for pop in pops if pop[0].shard in group.shards]
            exchanges = bool(mine) or (not is_busy and self._acks.waits_for(group.shards))
            if (exchanges or group.check_unknown) and not group.shards <= self._asked:
                started = True
                group.requested = sum(count for _, count in mine)
                self._requested += group.requested
                group.task = asyncio.create_task(self._ask_group(group, mine, exchanges=exchanges))
                self._asked |= group.shards
        return started

    async def _ask_group(
        self, group: ShardGroup, pops: list[tuple[QueueShard, int]], *, exchanges: bool
    ) -> None:
        try:
            await self._make_round_trip(group, pops, exchanges=exchanges)
        except Exception as error:  # noqa: BLE001 - the main loop raises it
            self._failure = error
        finally:
            group.task = None
            self._forget_requested(group)
            self._wakeup.set()

    def _forget_requested(self, group: ShardGroup) -> None:
        self._requested -= group.requested
        group.requested = 0

    async def _make_round_trip(
        self, group: ShardGroup, pops: list[tuple[QueueShard, int]], *, exchanges: bool
    ) -> None:
        if group.check_unknown:
            await self._release_unknown(group)
        if exchanges:
            await self._exchange(group, pops)
        self._asked -= group.shards

    def _next_pops(self) -> list[tuple[QueueShard, int]]:
        room = min(self._room(), self._prefetch.at_once())
        if room <= 0:
            return []
        return self._sources.next(room, self._asked) or (
            self._sources.along(room, self._asked) if self._acks else []
        )

    def _is_busy(self) -> bool:
        """Return whether to delay the round trip in order to collect more acknowledgements.

        The round trip waits while enough jobs are ready to start: more than half of the capacity.
        """
        return (
            len(self._ready) > self._prefetch.capacity() // 2
            and time.monotonic() - self._last_start < PREFETCH_SECONDS
            and not self._stopping
        )

    def _room(self) -> int:
        if self._stopping or self._suspects:
            return 0
        held = len(self._runner.running) + len(self._ready) + self._requested
        if self._suspects.careful:
            return 0 if held else 1
        return self._prefetch.capacity() - held

    async def _pause(self) -> None:
        seconds = self._sources.seconds_left(self._asked) if self._room() > 0 else None
        if self._ready or (self._acks and not self._acks.waits_only_for(self._asked)):
            seconds = PREFETCH_SECONDS
        await self._wakeup.wait(seconds)

    async def _exchange(self, group: ShardGroup, pops: list[tuple[QueueShard, int]]) -> None:
        """Send acknowledgements and pops in one round trip, and handle the replies."""
        acks = self._acks.take(None if len(self._groups) == 1 else group.shards)
        group.sends_acks = bool(acks)
        calls: list[tuple[int, Call[Any]]] = [(ack.shard, ack.call) for ack in acks]
        # A pop that finds no job can ask the server to hand over the next job that is put. The
        # worker asks only if it receives notices and has room for one job from each shard of each
        # queue.
        room = self._room() + group.requested
        offers = group.receives_notices() and room >= self._sources.count
        offer = SAFETY_POLL if offers else 0
        calls += [
            (source.shard, none_if_refused(self._pops[source.queue, offer](count)))
            for source, count in pops
        ]
        replies = await self._confirmed_replies(calls)
        group.sends_acks = False
        self._forget_requested(group)
        for ack, answers in zip(acks, replies[: len(acks)], strict=True):
            self._acknowledged(ack, answers)
        without_session = False
        for (source, count), handout in zip(pops, replies[len(acks) :], strict=True):
            if handout is None:
                without_session = True
                continue
            self._sources.popped(source, count, len(handout.jobs), handout.due)
            self._add_jobs(handout.jobs)
        self._start_ready()
        # Let the started jobs run before the next iteration of this loop.
        await asyncio.sleep(0)
        if without_session:
            # The session expired or was ended; the supervisor starts a new session.
            await asyncio.sleep(NO_SESSION_PAUSE)

    async def _confirmed_replies(self, calls: list[tuple[int, Call[Any]]]) -> list[Any]:
        operation = confirmed(self._core, None, ask(self._core, calls))
        try:
            return await drive_async(self._core.transport, operation)
        except NotDurable as error:
            log_event(
                logging.WARNING,
                "server accepted outcomes, but did not confirm that they are durable",
                worker=self.name,
                reason=error,
            )
            replies: list[Any] = error.result
            return replies

    def _add_jobs(self, jobs: list[Popped]) -> None:
        for popped in jobs:
            if _has_lease(popped) and not self._leases.add(_proof(popped), popped):
                continue
            if not is_suspect(popped):
                self._suspects.careful = False
                self._ready.append(popped)
            else:
                self._add_suspect(popped)
        if self._stopping:
            self.stop()

    async def _release_unknown(self, group: ShardGroup) -> None:
        """Release jobs that the server handed over with a notice that never arrived."""
        group.check_unknown = False
        known = {job_id for job_id, _ in self._leases.proofs()} | self._acks.ids()
        # `_finished` adds the jobs that finish meanwhile.
        self._known.append(known)
        operation = held_jobs(self._core, self.name, set(known), group.shards)
        for popped in await drive_async(self._core.transport, operation):
            # By now, `known` includes the jobs that finished during this call, and the leases
            # include the jobs that arrived during this call.
            if popped.id not in known and not self._leases.expects(_proof(popped)):
                self._leases.ignore_later(_proof(popped), "released")
                self._acks.release(popped)
        self._known = [other for other in self._known if other is not known]

    def _add_suspect(self, popped: Popped) -> None:
        if not self._suspects.careful:
            log_event(
                logging.WARNING,
                "job may kill its worker (reclaimed twice in a row); running the job alone",
                worker=self.name,
            )
        if not self._suspects.add(popped):
            self._release(popped)

    def _acknowledged(self, ack: PendingAck, answers: list[Any]) -> None:
        for popped, answer in zip(ack.jobs, answers, strict=True):
            self._started_jobs.remove(popped.id)
            if isinstance(answer, HeadraceError):
                log_job(logging.WARNING, "server refused the job's outcome", popped, reason=answer)

    # start and finish jobs

    def _start_ready(self) -> None:
        # A short job can finish inside `_start`. `_finished` then calls this method again.
        if not self._starting:
            self._starting = True
            try:
                self._context.run(self._start)
            finally:
                self._starting = False

    def _start(self) -> None:
        while self._ready and len(self._runner.running) < self._settings.concurrency:
            self._last_start = time.monotonic()
            self._runner.start(self._ready.popleft())
        # A suspect may kill the process, and unsent acknowledgements would be lost. The suspect
        # therefore starts only after all acknowledgements are sent.
        pending = self._runner.running or self._acks or self._asked
        if not pending and (suspect := self._suspects.start()):
            self._runner.start(suspect)

    def _finished(self, run: Run, outcome: Outcome) -> None:
        seconds = time.perf_counter() - run.started
        self._prefetch.finished(seconds)
        self.jobs_finished += 1
        popped = run.popped
        self._suspects.forget(popped)
        for known in self._known:
            known.add(popped.id)
        held = self._leases.remove(_proof(popped))
        if held:
            self._acks.acknowledge(popped, outcome)
        if held or not _has_lease(popped):
            log_run(run, outcome, seconds)
            if self._meter is not None:
                self._meter.finished(run, outcome, seconds)
        self._start_ready()
        if self._stopping:
            self._check_drained()
        self._wakeup.set()

    def _release(self, popped: Popped) -> None:
        self._suspects.forget(popped)
        if self._leases.remove(_proof(popped)):
            self._acks.release(popped)

    def _lease_lost(self, popped: Popped, reason: str) -> None:
        """Stop a job whose lease the server ended, because the job's outcome no longer counts."""
        log_job(logging.WARNING, "lease lost; stopped the job", popped, reason=reason)
        self._suspects.forget(popped)
        self._started_jobs.remove(popped.id)
        if popped in self._ready:
            self._ready.remove(popped)
        for run in self._runner.running:
            if run.popped is popped:
                self._runner.stop(run)
                break
        self._check_drained()
        self._wakeup.set()

    # background duties

    async def _keep_doing(self, duty: Duty) -> None:
        """Run a background duty, and restart it whenever it fails. Jobs run in the meantime."""
        while True:
            try:
                await duty()
            except Exception:
                log.exception(
                    "worker %s: a background duty failed; retrying in %g s",
                    self.name,
                    DUTY_RETRY_PAUSE,
                )
                await asyncio.sleep(DUTY_RETRY_PAUSE)
            else:
                return

    async def _shed(self) -> None:
        """Release prefetched jobs that would not start soon, so that other workers can run them."""
        while True:
            await asyncio.sleep(SHED_SECONDS)
            stuck = time.monotonic() - self._last_start
            if self._ready and stuck > LONGEST_READY:
                self._prefetch.stuck(stuck)
            too_many = len(self._runner.running) + len(self._ready) - self._prefetch.capacity()
            for popped in list(self._ready)[-too_many:] if too_many > 0 else ():
                if _has_lease(popped):
                    self._ready.remove(popped)
                    self._release(popped)
            if too_many > 0:
                self._wakeup.set()

    async def _suspect_unknown_jobs(self) -> None:
        """Compare held jobs with the server's records regularly, because notices can be lost."""
        while True:
            await asyncio.sleep(CHECK_EVERY)
            for group in self._groups:
                group.check_unknown = True
            self._wakeup.set()

    async def _listen(self, group: ShardGroup) -> None:
        notices = group.notices = worker_notices(
            self._core,
            self._sources,
            self._queue_names,
            self._leases,
            group.shards,
            self._take_hand_over,
            group.suspect_unknown,
        )
        try:
            operation = self._receive_notices(notices, group.shards)
            await drive_async(self._core.transport, operation)
        finally:
            if notices.subscription is not None:
                await notices.subscription.end()

    def _on_notice(self, notices: ListeningState[LostLease], channel: str, message: bytes) -> bool:
        is_work = notices.read(channel, message) == [WORK_NOTICE]
        if is_work:
            self._wakeup.set()
        return is_work

    def _take_hand_over(self, popped: Popped) -> None:
        """Accept a job that the server handed over when the job was put.

        The next round trip then pops from the job's queue again. If this pop finds no job, the pop
        asks the server again to hand over the next job.
        """
        self._sources.wake(popped.record.queue, self._core.shard_of(popped.id))
        if self._suspects:
            # A suspect runs alone, so the worker accepts no other job now.
            if self._leases.add(_proof(popped), popped):
                self._release(popped)
            return
        self._add_jobs([popped])
        self._start_ready()

    def _receive_notices(
        self, notices: ListeningState[LostLease], shards: frozenset[int]
    ) -> Operation[None]:
        yield from subscribe(notices)
        checked_at = time.monotonic()
        while not notices.ended:
            # `on_notice` handles notices of new work quickly. `receive` returns all other notices.
            notices.subscription.on_notice = partial(self._on_notice, notices)
            for reason, proof in (yield from receive(notices)):
                if reason:
                    self._leases.lose(reason, proof)
            if time.monotonic() >= checked_at + CHECK_EVERY:
                # Notices can be lost, so the worker also asks the server regularly for lost leases.
                checked_at = time.monotonic()
                lost = yield from find_lost_leases(self._core, self._leases, shards)
                for reason, proof in lost:
                    self._leases.lose(reason, proof)
            self._wakeup.set()

    async def _read_lease_lengths(self) -> None:
        """Find the queues whose leases do not depend on the session.

        Queue settings can change at any time, so each round reads the settings of up to 10 queues.
        """
        names = cycle(self._queue_names)
        while True:
            some = [next(names) for _ in range(min(len(self._queue_names), SETTINGS_AT_ONCE))]
            found = await lease_lengths(self._client, some)
            before = self._lease_lengths
            others = {name: before[name] for name in before if name not in some}
            self._lease_lengths = others | found
            if self._lease_lengths != before:
                for group in self._groups:
                    group.lengths_changed.set()
            await asyncio.sleep(self._renewal_pause())

    async def _renew(self, group: ShardGroup) -> None:
        """Renew the leases of queues whose leases do not depend on the session."""
        while True:
            held = [
                popped
                for popped in self._leases.jobs()
                if popped.record.queue in self._lease_lengths
                and self._core.shard_of(popped.id) in group.shards
            ]
            await drive_async(self._core.transport, renew_leases(self._core, held))
            with suppress(TimeoutError):
                await asyncio.wait_for(group.lengths_changed.wait(), self._renewal_pause())
            group.lengths_changed.clear()

    def _renewal_pause(self) -> float:
        return min([SETTINGS_SECONDS, *self._lease_lengths.values()]) / RENEWALS


def _has_lease(popped: Popped) -> bool:
    """Return whether a job has a lease. Jobs of queues that remove jobs on pop have no lease."""
    return popped.record.state == "running"


def _proof(popped: Popped) -> Proof:
    return popped.id, popped.record.token
