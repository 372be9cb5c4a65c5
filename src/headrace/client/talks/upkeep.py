"""sweep, audit and the event log: what keeps a namespace in order and shows that it is."""

from __future__ import annotations

from typing import Any

from headrace.client.core import Core
from headrace.client.talk import Talk, ask, ask_one, raw
from headrace.client.talks.auditing import audit_tags, fault
from headrace.client.talks.faces import ClientFace
from headrace.client.talks.queues import LISTED, queue_names, text_map
from headrace.client.talks.writing import finish_open
from headrace.client.values import Audit, Written
from headrace.engine.call import Call, build
from headrace.engine.check import whole
from headrace.engine.events import Event, read_event
from headrace.engine.shard import ingress_ids
from headrace.engine.states import STATES
from headrace.errors import InvalidArgument

PAGE = 500
QUEUES_A_SWEEP = 50
LINKED_A_CALL = 50
LINKS_A_PAGE = 100


def sweep(client: ClientFace) -> Talk[list[Written]]:
    """Housekeeping that any peer may do: what dead workers held goes back, what is due starts to
    wait, what is too old goes. Workers do the same as they pop; this is for when none does. Writes
    from Spark whose driver died are brought to their end, and returned.
    """
    core = client.core
    finished = yield from finish_open(core)
    names = yield from all_queues(core)
    for shard in range(core.shards):
        for first in range(0, max(1, len(names)), QUEUES_A_SWEEP):
            rows = [(name,) for name in names[first : first + QUEUES_A_SWEEP]]
            while not (yield from ask_one(core, shard, build("sweep", int, rows))):
                pass
    return finished


def all_queues(core: Core) -> Talk[list[str]]:
    """Every queue of the namespace."""
    names: list[str] = []
    while True:
        found = yield from queue_names(core, len(names), LISTED)
        names += found
        if len(found) < LISTED:
            return names


def audit(client: ClientFace) -> Talk[Audit]:
    """Compares the books of every queue with what is there, and names the jobs that break them."""
    core = client.core
    names = yield from all_queues(core)
    problems: list[str] = []
    jobs = 0
    for shard in range(core.shards):
        for name in names:
            seen, found = yield from _audit_queue(core, shard, name)
            jobs += seen
            problems += found
        problems += yield from audit_tags(core, shard)
    return Audit(len(names), jobs, problems)


def _audit_queue(core: Core, shard: int, queue: str) -> Talk[tuple[int, list[str]]]:
    calls: list[Call[Any]] = [build("audit_books", _books_and_sets, queue=queue)]
    calls += [_audit_page(queue, state, 0) for state in STATES]
    # In one go, because what others do in between is taken for an imbalance.
    (books, there, claims), *pages = yield from ask(core, [(shard, call) for call in calls])
    problems: list[str] = []
    seen = claimed = 0
    for state, page in zip(STATES, pages, strict=True):
        looked_at, have_claims, faults = yield from _audit_state(core, shard, queue, state, page)
        seen += looked_at
        claimed += have_claims
        problems += faults
    imbalances = _imbalances(queue, books, there)
    if claims != claimed:
        imbalances.append(f"queue {queue!r}: {claims} unique values are claimed, by {claimed} jobs")
    if imbalances and not problems:
        problems += yield from _suspects(core, shard, queue)
    return seen, problems + imbalances


def _books_and_sets(reply: list[Any]) -> tuple[dict[str, int], dict[str, int], int]:
    books = {name: int(value) for name, value in text_map(reply[0]).items()}
    states, sizes = reply[1][::2], reply[1][1::2]
    there = {state.decode(): size for state, size in zip(states, sizes, strict=True)}
    return books, there, reply[2]


def _imbalances(queue: str, books: dict[str, int], there: dict[str, int]) -> list[str]:
    def booked(name: str) -> int:
        return books.get(name, 0)

    found = [
        f"queue {queue!r}: the books say {expected} {state}, there are {there[state]}"
        for state in STATES
        if (expected := booked(state) - (booked("pruned") if state == "complete" else 0))
        != there[state]
    ]
    parts = sum(booked(name) for name in (*STATES, "cancelled", "expired", "moved"))
    if booked("put") != parts:
        found.append(f"queue {queue!r}: {booked('put')} were put, but the parts sum to {parts}")
    return found


def _audit_page(queue: str, state: str, offset: int) -> Call[list[Any]]:
    return build("audit_members", list, queue=queue, state=state, offset=offset, count=PAGE)


def _audit_state(
    core: Core, shard: int, queue: str, state: str, page: list[Any]
) -> Talk[tuple[int, int, list[str]]]:
    seen = claimed = 0
    problems: list[str] = []
    while True:
        looked_at, have_claims, linked, *faults = page
        seen += looked_at
        claimed += have_claims
        problems += [fault(row) for row in faults]
        problems += yield from _audit_links(core, shard, linked)
        if looked_at < PAGE:
            return seen, claimed, problems
        page = yield from ask_one(core, shard, _audit_page(queue, state, seen))


def _audit_links(core: Core, shard: int, ids: list[bytes]) -> Talk[list[str]]:
    problems: dict[str, None] = {}
    for first in range(0, len(ids), LINKED_A_CALL):
        rows = [(job_id,) for job_id in ids[first : first + LINKED_A_CALL]]
        offset, more = 0, True
        while more:
            call = build("audit_links", list, rows, offset=offset, count=LINKS_A_PAGE)
            more, *faults = yield from ask_one(core, shard, call)
            offset += LINKS_A_PAGE
            problems |= dict.fromkeys(fault(row) for row in faults)
    return list(problems)


def _suspects(core: Core, shard: int, queue: str) -> Talk[list[str]]:
    """A job that is in no set can only be found through the log."""
    after = "-"
    while True:
        found = yield from _read_log(core, shard, after, PAGE)
        ids = {event.job_id for event in found if event.queue == queue}
        if ids:
            call = build("audit_jobs", list, [(job_id,) for job_id in sorted(ids)])
            faults = yield from ask_one(core, shard, call)
            if faults:
                return [fault(row) for row in faults]
        if len(found) < PAGE:
            return []
        after = f"({found[-1].entry_id}"


def events(
    client: ClientFace, *, after: dict[int, str] | None = None, count: int = 1000
) -> Talk[list[Event]]:
    """Up to count events of each shard, oldest first, after the last entry ids that were seen."""
    core = client.core
    whole("count", count, 1, 10_000)
    found: list[Event] = []
    for shard in range(core.shards):
        start = (after or {}).get(shard)
        found += yield from _read_log(core, shard, f"({start}" if start else "-", count)
    return found


def _read_log(core: Core, shard: int, start: str, count: int) -> Talk[list[Event]]:
    key = core.key(shard, "events")
    [entries] = yield from raw(core, [(shard, ("XRANGE", key, start, "+", "COUNT", count))])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def is_there(core: Core) -> Talk[bool]:
    """Whether the namespace has been made; who only looks does not make it."""
    [layout] = yield from raw(core, [(0, ("HGET", core.key(0, "meta"), "layout"))])
    return layout is not None


def open_namespace(core: Core, shards: int | None, layout: int) -> Talk[tuple[int, int]]:
    """Makes the namespace if it is new; returns its layout and number of shards."""
    if shards is not None:
        whole("shards", shards, 1, 1024)
    call = _open_call(0, shards or 1, layout)
    found_layout, found_shards = yield from ask_one(core, 0, call)
    if found_layout is None or found_shards is None:
        raise InvalidArgument("the namespace has no description: is its prefix used otherwise?")
    return int(found_layout), int(found_shards)


def open_shards(core: Core, layout: int) -> Talk[None]:
    """Makes the other shards too, each of which is to know what lives there."""
    if core.shards > 1:
        calls = [(shard, _open_call(shard, core.shards, layout)) for shard in range(core.shards)]
        yield from ask(core, calls)


def _open_call(shard: int, shards: int, layout: int) -> Call[list[Any]]:
    return build(
        "open_namespace", list, shards=shards, layout=layout, ingress_ids=ingress_ids(shard, shards)
    )


def wait_for_event(client: ClientFace, seen: dict[int, str], milliseconds: int) -> Talk[None]:
    """Waits until a shard has an event beyond the last one seen, but not for long."""
    core = client.core
    for shard in range(core.shards):
        # The server must answer before the connection counts as broken.
        block = max(1, round(min(milliseconds, 500 * core.timeout)) // core.shards)
        key = core.key(shard, "events")
        last = seen.get(shard, "0-0")
        words = ("XREAD", "BLOCK", block, "COUNT", 1, "STREAMS", key, last)
        [found] = yield from raw(core, [(shard, words)])
        if found:
            return
