"""One process's worth of work: an event loop that pops, runs and answers for jobs.

One round trip carries everything that is to be said and the next pops; while it is on its way,
jobs run. So the busier a worker is, the more goes into each trip.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial
from itertools import cycle
from typing import Any

from headrace.app.app import App
from headrace.client.client import AsyncClient
from headrace.engine.call import Call, is_refusal
from headrace.errors import HeadraceError
from headrace.operations.held_leases import Proof
from headrace.operations.lease_watch import LOOK_EVERY, Taken, missed
from headrace.operations.listening import ListeningState, receive, subscribe
from headrace.operations.popping import SAFETY_POLL, Handout, Popped, pop_call
from headrace.operations.requests import ask
from headrace.transport.drive import Operation, drive_async
from headrace.worker.alarm import Alarm
from headrace.worker.begun import Begun
from headrace.worker.logs import JobLog, say
from headrace.worker.metering import Meter
from headrace.worker.notices import WORK, Hands, held_jobs, station_of
from headrace.worker.outbox import Outbox, Said
from headrace.worker.prefetch import HORIZON, Prefetch
from headrace.worker.renewing import RENEWALS, leases_of, renew
from headrace.worker.run import Run
from headrace.worker.runner import Outcome, Runner
from headrace.worker.settings import Served, WorkerSettings
from headrace.worker.sources import Source, Sources
from headrace.worker.suspects import Suspects, is_suspect

log = logging.getLogger("headrace.worker")

SESSION_PAUSE = 0.1
PAUSE_OF_DUTY = 1.0
LOOK_AT_READY = 0.25
LOOK_AT_SETTINGS = 6.0
SETTINGS_AT_ONCE = 10
LONGEST_READY = 0.5


class Worker:
    """Works off jobs under one name until it is told to stop."""

    def __init__(
        self,
        app: App,
        client: AsyncClient,
        name: str,
        queues: tuple[Served, ...],
        settings: WorkerSettings,
        meter: Meter | None = None,
        begun: Begun | None = None,
    ) -> None:
        self.name = name
        self.jobs_ended = 0
        self._client = client
        self._core = client.core
        # What is asked is asked until it is answered: a pop whose answer was lost has taken jobs.
        self._core.retry_for = math.inf
        self._settings = settings
        self._served = [queue.name for queue in queues]
        self._sources = Sources(queues, self._core.shards, weighted=settings.weighted)
        self._hands = Hands(name, self._taken)
        self._outbox = Outbox(self._core)
        self._prefetch = Prefetch(settings.concurrency)
        self._runner = Runner(
            app, self._core, settings.app, settings.concurrency, self._begun, self._ended
        )
        self._log = JobLog(name)
        self._meter = meter
        self._ready: deque[Popped] = deque()
        self._begun_jobs = begun or Begun(settings.concurrency)
        self._suspects = Suspects()
        self._alarm = Alarm()
        self._stopping = False
        self._starting = False
        self._exchanging = False
        self._begun_at = 0.0
        # What a task leaves in its context is not for those that are begun when it ends.
        self._context = copy_context()
        self._look_for_unknown = False
        self._ended_meanwhile: set[str] | None = None
        self._station: ListeningState[Taken] | None = None
        self._pops = {
            (queue.name, offer): pop_call(client.queue(queue.name), name, 1, math.inf, offer)
            for queue in queues
            for offer in (0, SAFETY_POLL)
        }

    async def work(self) -> None:
        """Works until it is told to stop; then what was begun is over or given back."""
        duties = (self._listen, self._doubt_now_and_then, self._renew, self._shed)
        beside = [asyncio.create_task(self._go_on(duty)) for duty in duties]
        try:
            while not self._is_over():
                self._alarm.clear()
                self._start_ready()
                if self._meter is not None:
                    self._meter.holding(len(self._runner.running), len(self._ready))
                if self._look_for_unknown:
                    await self._return_unknown()
                asked = self._whom_to_ask()
                if (asked or self._outbox) and not self._works_on_enough():
                    await self._exchange(asked)
                else:
                    await self._pause()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._runner.close()

    def stop(self) -> None:
        """Begins nothing more and gives back what was not begun; what runs may end."""
        self._stopping = True
        for popped in (*self._ready, *self._suspects.give_up()):
            self._give_back(popped)
        # What pop removed from its queue is nowhere else.
        self._ready = deque(popped for popped in self._ready if not _can_be_given_back(popped))
        self._alarm.ring()

    def give_back_everything(self) -> None:
        """Stops what runs and gives it back too."""
        self.stop()
        for popped in self._ready:
            self._log.dropped(popped)
        self._ready.clear()
        for run in list(self._runner.running):
            self._runner.stop(run)
            self._give_back(run.popped)
        self._alarm.ring()

    # one turn

    def _is_over(self) -> bool:
        return self._stopping and not (self._runner.running or self._ready or self._outbox)

    def _whom_to_ask(self) -> list[tuple[Source, int]]:
        room = min(self._room(), self._prefetch.at_once())
        if room <= 0:
            return []
        asked = self._sources.next(room)
        return asked or (self._sources.along(room) if self._outbox else [])

    def _works_on_enough(self) -> bool:
        """While more than half of what is held is to be begun at once, more to say will gather."""
        return (
            len(self._ready) > self._prefetch.capacity() // 2
            and time.monotonic() - self._begun_at < HORIZON
            and not self._stopping
        )

    def _room(self) -> int:
        if self._stopping or self._suspects:
            return 0
        held = len(self._runner.running) + len(self._ready)
        if self._suspects.careful:
            return 0 if held else 1
        return self._prefetch.capacity() - held

    async def _pause(self) -> None:
        seconds = self._sources.seconds_left() if self._room() > 0 else None
        if self._outbox or self._ready:
            seconds = HORIZON
        await self._alarm.wait(seconds)

    async def _exchange(self, asked: list[tuple[Source, int]]) -> None:
        """Says what is to be said and asks for more jobs, in one trip."""
        said = self._outbox.take()
        calls: list[tuple[int, Call[Any]]] = [(one.shard, one.call) for one in said]
        # Who finds nothing offers to take the next job, if it would hear of it; each may bring one.
        offers = self._hears_notices() and self._room() >= self._sources.count
        offer = SAFETY_POLL if offers else 0
        calls += [(source.shard, self._pop(source.queue, count, offer)) for source, count in asked]
        self._exchanging = True
        answers = await drive_async(self._core.transport, ask(self._core, calls))
        self._exchanging = False
        for one, answer in zip(said, answers[: len(said)], strict=True):
            self._heard(one, answer)
        without_session = False
        for (source, count), handout in zip(asked, answers[len(said) :], strict=True):
            if handout is None:
                without_session = True
                continue
            self._sources.answered(source, count, len(handout.jobs), handout.due)
            self._take_in(handout.jobs)
        self._start_ready()
        # They begin before anything else is seen to.
        await asyncio.sleep(0)
        if without_session:
            # It lapsed, or was ended by somebody; whoever keeps it begins a new one.
            await asyncio.sleep(SESSION_PAUSE)

    def _pop(self, queue: str, count: int, offer: float) -> Call[Handout | None]:
        call = self._pops[queue, offer](count)
        return Call(
            call.op, call.args, lambda reply: None if is_refusal(reply) else call.decode(reply)
        )

    def _take_in(self, jobs: list[Popped]) -> None:
        for popped in jobs:
            if _can_be_given_back(popped) and not self._hands.add(_proof(popped), popped):
                continue
            if not is_suspect(popped):
                self._suspects.careful = False
                self._ready.append(popped)
            else:
                self._suspect(popped)
        if self._stopping:
            self.stop()

    def _doubt(self) -> None:
        self._look_for_unknown = True

    async def _return_unknown(self) -> None:
        """Gives back what we hold by a notice that never came."""
        self._look_for_unknown = False
        known = self._ended_meanwhile = {job_id for job_id, _ in self._hands.proofs()}
        known |= self._outbox.ids()
        operation = held_jobs(self._core, self.name, set(known))
        for popped in await drive_async(self._core.transport, operation):
            # What was handed over and ended while we asked is known by now.
            if popped.id not in known and not self._hands.expects(_proof(popped)):
                self._hands.refuse(_proof(popped), "returned")
                self._outbox.release(popped)
        self._ended_meanwhile = None

    def _suspect(self, popped: Popped) -> None:
        if not self._suspects.careful:
            say(logging.WARNING, "jobs that were lost twice run alone", worker=self.name)
        if not self._suspects.add(popped):
            self._give_back(popped)

    def _heard(self, said: Said, answers: list[Any]) -> None:
        for popped, answer in zip(said.jobs, answers, strict=True):
            self._begun_jobs.remove(popped.id)
            if isinstance(answer, HeadraceError):
                self._log.refused(popped, answer)

    # from popped to ended

    def _start_ready(self) -> None:
        # What ends as it is begun makes room in the midst of this.
        if not self._starting:
            self._starting = True
            try:
                self._context.run(self._start)
            finally:
                self._starting = False

    def _start(self) -> None:
        while self._ready and len(self._runner.running) < self._settings.concurrency:
            self._begun_at = time.monotonic()
            self._runner.start(self._ready.popleft())
        # Whatever is unsaid when a suspect kills us would be lost with it.
        unsaid = self._runner.running or self._outbox or self._exchanging
        if not unsaid and (alone := self._suspects.begin()):
            self._runner.start(alone)

    def _begun(self, popped: Popped) -> None:
        """Called where it begins: in the loop or in a thread."""
        self._begun_jobs.add(popped.id)

    def _ended(self, run: Run, outcome: Outcome) -> None:
        seconds = time.perf_counter() - run.started
        self._prefetch.ended(seconds)
        self.jobs_ended += 1
        popped = run.popped
        self._suspects.forget(popped)
        if self._ended_meanwhile is not None:
            self._ended_meanwhile.add(popped.id)
        in_hand = self._hands.drop(_proof(popped))
        if in_hand:
            self._outbox.say(popped, outcome)
        if in_hand or not _can_be_given_back(popped):
            self._log.ended(run, outcome, seconds)
            if self._meter is not None:
                self._meter.ended(run, outcome, seconds)
        self._start_ready()
        self._alarm.ring()

    def _give_back(self, popped: Popped) -> None:
        self._suspects.forget(popped)
        if self._hands.drop(_proof(popped)):
            self._outbox.release(popped)

    def _taken(self, popped: Popped, why: str) -> None:
        """A job was taken from us: what we do with it no longer counts."""
        self._log.taken(popped, why)
        self._suspects.forget(popped)
        self._begun_jobs.remove(popped.id)
        if popped in self._ready:
            self._ready.remove(popped)
        for run in self._runner.running:
            if run.popped is popped:
                self._runner.stop(run)
                break
        self._alarm.ring()

    # what is done beside

    async def _go_on(self, duty: Callable[[], Awaitable[None]]) -> None:
        """Begins a duty again if it fails: a worker that cannot hear still works."""
        while True:
            try:
                await duty()
            except Exception:
                log.exception("worker %s could not do a duty, and tries again", self.name)
                await asyncio.sleep(PAUSE_OF_DUTY)
            else:
                return

    async def _shed(self) -> None:
        """Gives back what is not begun soon, so that others can have it."""
        while True:
            await asyncio.sleep(LOOK_AT_READY)
            stuck = time.monotonic() - self._begun_at
            if self._ready and stuck > LONGEST_READY:
                self._prefetch.stuck(stuck)
            too_many = len(self._runner.running) + len(self._ready) - self._prefetch.capacity()
            for popped in list(self._ready)[-too_many:] if too_many > 0 else ():
                if _can_be_given_back(popped):
                    self._ready.remove(popped)
                    self._give_back(popped)
            if too_many > 0:
                self._alarm.ring()

    async def _doubt_now_and_then(self) -> None:
        """Also without a sign that a notice was missed: who holds a job must know of it."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self._doubt()
            self._alarm.ring()

    async def _listen(self) -> None:
        station = self._station = station_of(
            self._core, self._sources, self._served, self._hands, self._take_handed, self._doubt
        )
        try:
            await drive_async(self._core.transport, self._hearing(station))
        finally:
            if station.subscription is not None:
                await station.subscription.end()

    def _hears_notices(self) -> bool:
        station = self._station
        return station is not None and station.checked and not station.subscription.broken

    def _hears_of_work(self, station: ListeningState[Taken], channel: str, message: bytes) -> bool:
        is_work = station.read(channel, message) == [WORK]
        if is_work:
            self._alarm.ring()
        return is_work

    def _take_handed(self, popped: Popped) -> None:
        """A job was handed to us as it was put. With the next trip we offer ourselves again."""
        self._sources.wake(popped.record.queue, self._core.shard_of(popped.id))
        if self._suspects:
            # Nothing runs beside those.
            if self._hands.add(_proof(popped), popped):
                self._give_back(popped)
            return
        self._take_in([popped])
        self._start_ready()

    def _hearing(self, station: ListeningState[Taken]) -> Operation[None]:
        yield from subscribe(station)
        looked = time.monotonic()
        while not station.ended:
            # What says that there is work goes the shortest way; the rest is heard below.
            station.subscription.on_notice = partial(self._hears_of_work, station)
            for why, proof in (yield from receive(station)):
                if why:
                    self._hands.take(why, proof)
            if time.monotonic() >= looked + LOOK_EVERY:
                # What notices do not tell is asked for now and then.
                looked = time.monotonic()
                for why, proof in (yield from missed(self._core, self._hands)):
                    self._hands.take(why, proof)
            self._alarm.ring()

    async def _renew(self) -> None:
        """Renews leases that heed no session; settings may change, so queues are asked in turns."""
        leases: dict[str, float] = {}
        turns = cycle(self._served)
        while True:
            some = [next(turns) for _ in range(min(len(self._served), SETTINGS_AT_ONCE))]
            found = await leases_of(self._client, some)
            leases = {name: span for name, span in leases.items() if name not in some} | found
            held = [popped for popped in self._hands.every() if popped.record.queue in leases]
            await drive_async(self._core.transport, renew(self._core, held))
            await asyncio.sleep(min([LOOK_AT_SETTINGS, *leases.values()]) / RENEWALS)


def _can_be_given_back(popped: Popped) -> bool:
    """Where pop removes a job from its queue, there is no lease: it is ours for good."""
    return popped.record.state == "running"


def _proof(popped: Popped) -> Proof:
    return popped.id, popped.record.token
