"""Writes: what was staged is prepared, decided and published, each row once whoever does it.

The decision is made at the home of the write, the shard of its name. Before it nothing is seen,
after it everything will be: whoever comes next goes on with what is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from headrace.engine.call import Call, build, is_refusal
from headrace.engine.check import text, whole
from headrace.engine.timestamps import moment
from headrace.errors import StagedLost, WriteGivenUp, WriteIdTaken, WriteLost
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, ask_one
from headrace.operations.staging import (
    NO_BATCH,
    Parcel,
    Write,
    bundle_of,
    bytes_or_int,
    stream_name,
    write_name,
)
from headrace.operations.values import Written
from headrace.transport.drive import Operation

PARCELS_A_CALL = 250
PUBLISHES_AT_ONCE = 4
BUNDLES_LISTED = 100
Entry = dict[str, str]
Tallies = tuple[int, int, int, int]


def written(
    client: ClientLike, write_id: str, *, stream: bool = False
) -> Operation[Written | None]:
    """What became of a write from Spark, by its writeId; or of the newest batch of a stream, by the
    id of its query. None if nothing was decided, or if that was more than 7 days ago.
    """
    longest = client.core.limits.name
    text("write_id", write_id, longest)
    name = stream_name(write_id) if stream else write_name(write_id)
    entry, _ = yield from _look(client.core, name, "")
    return _read(name, entry) if entry else None


def writes(client: ClientLike, *, count: int = 20) -> Operation[list[Written]]:
    """The newest writes from Spark, the newest first: also batches of streams."""
    core = client.core
    whole("count", count, 1, 1000)
    call = build("list_writes", list, count=count)
    found: list[Written] = []
    for listed in (yield from ask(core, [(shard, call) for shard in range(core.shards)])):
        found += [_read(name.decode(), text_map(pairs)) for name, pairs in listed]
    return sorted(found, key=lambda write: write.decided_at, reverse=True)[:count]


def _read(name: str, entry: Entry) -> Written:
    kind, _, write_id = name.partition(":")
    return Written(
        id=write_id,
        batch=int(entry["batch"]) if kind == "stream" else None,
        queue=entry["queue"],
        rows=int(entry["rows"]),
        decided_at=moment(int(entry["committed_at"])),
        published_at=_moment_of(entry.get("published_at")),
        made=int(entry.get("made", 0)),
        moved=int(entry.get("moved", 0)),
        replaced=int(entry.get("replaced", 0)),
        skipped=int(entry.get("skipped", 0)),
        lost=_by_shard(entry.get("lost", "")),
    )


def _by_shard(stored: str) -> dict[int, int]:
    pairs = (part.partition("=") for part in stored.split())
    return {int(shard): int(rows) for shard, _, rows in pairs}


def _moment_of(stored: str | None) -> datetime | None:
    return moment(int(stored)) if stored else None


def decide(core: Core, write: Write, parcels: Sequence[Parcel]) -> Operation[str | None]:
    """Decides that a write consists of these parcels, unless it was decided before: then what was
    staged in vain goes. The bundle that is to be published now, None if there is none.
    """
    bundle = bundle_of(write, parcels)
    entry, _ = yield from _look(core, write.name, bundle)
    if not _is_decided(entry, write):
        yield from _prepare(core, write, bundle, parcels)
        entry = yield from _record(core, write, bundle, parcels)
    if entry["transaction"] != bundle:
        yield from abandon(core, write, parcels)
    if entry["queue"] != write.queue:
        raise WriteIdTaken(write.name, entry["queue"])
    if int(entry["batch"]) > write.batch or entry["state"] == "published":
        # A stream that cannot repeat a batch could never go on.
        if write.batch == NO_BATCH:
            check_whole(_read(write.name, entry))
        return None
    return entry["transaction"]


def _is_decided(entry: Entry, write: Write) -> bool:
    return bool(entry) and int(entry["batch"]) >= write.batch


def _look(core: Core, name: str, bundle: str) -> Operation[tuple[Entry, str]]:
    call = build("write_state", list, write=name, transaction=bundle)
    entry, state = yield from ask_one(core, core.shard_of(name), call)
    return text_map(entry), state.decode()


def _prepare(core: Core, write: Write, bundle: str, parcels: Sequence[Parcel]) -> Operation[None]:
    # At home first: what is prepared elsewhere can always be asked about there.
    home = core.shard_of(write.name)
    yield from _prepare_on(core, home, write, bundle, parcels)
    for shard in range(core.shards):
        if shard != home and any(parcel.chunks.get(shard) for parcel in parcels):
            yield from _prepare_on(core, shard, write, bundle, parcels)


def _prepare_on(
    core: Core, shard: int, write: Write, bundle: str, parcels: Sequence[Parcel]
) -> Operation[None]:
    rows = [
        (parcel.name, parcel.order, parcel.chunks[shard])
        for parcel in parcels
        if parcel.chunks.get(shard)
    ]
    for first in range(0, max(1, len(rows)), PARCELS_A_CALL):
        call = build(
            "prepare",
            bytes_or_int,
            rows[first : first + PARCELS_A_CALL],
            transaction=bundle,
            write=write.name,
            queue=write.queue,
            on_exists=write.on_exists,
            coordinator=int(shard == core.shard_of(write.name)),
        )
        answer = yield from ask_one(core, shard, call)
        if is_refusal(answer):
            raise _refused(write, answer)


def _refused(write: Write, answer: Any) -> WriteGivenUp | StagedLost:
    return WriteGivenUp(write.name) if answer == b"WRITE_ABORTED" else StagedLost()


def _record(core: Core, write: Write, bundle: str, parcels: Sequence[Parcel]) -> Operation[Entry]:
    rows = sum((Counter(parcel.rows) for parcel in parcels), Counter[int]())
    call = build(
        "commit",
        lambda reply: reply,
        write=write.name,
        batch=write.batch,
        transaction=bundle,
        queue=write.queue,
        rows=rows.total(),
        parts=" ".join(f"{shard}={count}" for shard, count in sorted(rows.items())),
    )
    answer = yield from ask_one(core, core.shard_of(write.name), call)
    if is_refusal(answer):
        raise _refused(write, answer)
    return text_map(answer[1])


def publish_on(core: Core, name: str, shard: int, bundle: str) -> Operation[Tallies]:
    """Publishes what a shard has of a bundle that was decided, and counts what came of it."""
    call: Call[Any] = build("publish", lambda reply: reply, transaction=bundle)
    calls = [(shard, call)] * PUBLISHES_AT_ONCE
    tallies: Tallies = (0, 0, 0, 0)
    while True:
        for reply in (yield from ask(core, calls)):
            if is_refusal(reply):
                raise WriteGivenUp(name)
            more, counted = _progress(reply)
            tallies = max(tallies, counted, key=sum)
            if not more:
                return tallies


def _progress(reply: Any) -> tuple[bool, Tallies]:
    more, made, moved, replaced, skipped = (int(value or 0) for value in reply)
    return bool(more), (made, moved, replaced, skipped)


def conclude(core: Core, name: str, bundle: str, counted: Sequence[Tallies]) -> Operation[Written]:
    """Writes into the ledger that every shard has published, and what came of it on each."""
    rows = [(str(shard), *tallies) for shard, tallies in enumerate(counted)]
    call = build("finalize", text_map, rows, write=name, transaction=bundle)
    home = core.shard_of(name)
    entry = yield from ask_one(core, home, call)
    if core.shards > 1:
        yield from ask(core, [(shard, call) for shard in range(core.shards) if shard != home])
    if not entry or (entry["transaction"], entry["state"]) == (bundle, "committed"):
        raise WriteLost(name)
    return _read(name, entry)


def check_whole(written: Written) -> None:
    """Raises if shards have lost rows of a write."""
    if written.lost:
        raise WriteLost(written.id, written.rows, written.lost)


def finish(core: Core, name: str, bundle: str) -> Operation[Written]:
    """Publishes a bundle that was decided, to its end."""
    counted: list[Tallies] = []
    for shard in range(core.shards):
        counted += [(yield from publish_on(core, name, shard, bundle))]
    return (yield from conclude(core, name, bundle, counted))


def abandon(core: Core, write: Write, parcels: Sequence[Parcel]) -> Operation[bool]:
    """Lets what was staged go, unless it was decided that it shall be published: then False."""
    if not parcels:
        # All writes of this name that have no rows are the same: none of them may be given up.
        return True
    bundle = bundle_of(write, parcels)
    home = core.shard_of(write.name)
    if not (yield from _discard_on(core, home, bundle, parcels, is_home=True)):
        return False
    for shard in range(core.shards):
        if shard != home:
            yield from _discard_on(core, shard, bundle, parcels, is_home=False)
    return True


def _discard_on(
    core: Core, shard: int, bundle: str, parcels: Sequence[Parcel], *, is_home: bool
) -> Operation[bool]:
    rows = [(parcel.name,) for parcel in parcels if parcel.chunks.get(shard)]
    for first in range(0, max(1, len(rows)), PARCELS_A_CALL):
        part = rows[first : first + PARCELS_A_CALL]
        call = build("discard", bytes_or_int, part, transaction=bundle, coordinator=int(is_home))
        while not (answer := (yield from ask_one(core, shard, call))):
            pass
        if is_refusal(answer):
            return False
    return True


def finish_open(core: Core) -> Operation[list[Written]]:
    """Goes on with every write that was decided and is not seen to by anybody, and lets go what
    never was decided. The writes that it finished.
    """
    call: Call[list[Any]] = build("open_transactions", list, count=BUNDLES_LISTED)
    listed = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    # A bundle is listed by each of its shards.
    finished: dict[str, Written | None] = {}
    for shard, bundles in enumerate(listed):
        for bundle, name in ((bundle.decode(), name.decode()) for bundle, name in bundles):
            if not finished.get(bundle):
                finished[bundle] = yield from _see_to(core, shard, bundle, name)
    return [written for written in finished.values() if written]


def _see_to(core: Core, shard: int, bundle: str, name: str) -> Operation[Written | None]:
    home = core.shard_of(name)
    _, state = yield from _look(core, name, bundle)
    if state == "prepared":
        given_up = yield from _discard_on(core, home, bundle, (), is_home=True)
        state = "aborted" if given_up else "committed"
    if state in ("committed", "published"):
        return (yield from finish(core, name, bundle))
    if shard != home:
        yield from _discard_on(core, shard, bundle, (), is_home=False)
    return None


def stream_write(query_id: str, batch: int, queue: str, on_exists: str) -> Write:
    """The write of one batch of a stream."""
    return Write(stream_name(query_id), queue, batch, on_exists)


def batch_write(write_id: str, queue: str, on_exists: str) -> Write:
    """The write of a DataFrame."""
    return Write(write_name(write_id), queue, NO_BATCH, on_exists)
