"""Throttles: named limits that the jobs of several queues share."""

from __future__ import annotations

from headrace.engine import keys
from headrace.engine.call import build
from headrace.engine.check import PAGE, Span, milliseconds, page, text, whole
from headrace.engine.settings import LARGEST_COUNT, rate_from_wire, rate_to_wire
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import on_all_shards, shares
from headrace.operations.requests import ask_all, raw
from headrace.operations.values import Throttle
from headrace.transport.drive import Operation


def set_throttle(
    client: ClientLike,
    name: str,
    *,
    concurrency: int | None = None,
    rate: str | None = None,
    ttl: Span | None = None,
) -> Operation[None]:
    """Set the limits of a throttle: `concurrency` and `rate`.

    `concurrency` is the maximum number of jobs that run at the same time, and `rate` is the maximum
    number of starts per period. The limits apply at once, also to jobs that are already waiting.
    After `ttl` seconds the throttle is deleted.

    Raises InvalidArgument if a limit is malformed or smaller than the number of shards.

        client.throttles.set("mail-api", concurrency=5, rate="100/m")
    """
    core = client.core
    text("throttle", name, core.limits.name)
    row = (
        name,
        "none" if concurrency is None else whole("concurrency", concurrency, 0, LARGEST_COUNT),
        "none" if rate is None else rate_to_wire("rate", rate),
        -1 if ttl is None else milliseconds("ttl", ttl),
    )
    shares(core, {"concurrency": concurrency, "rate": rate})
    yield from on_all_shards(core, build("throttle_set", int, [row], shards=core.shards))


def delete_throttle(client: ClientLike, name: str) -> Operation[bool]:
    """Delete a throttle and its limits; return whether the throttle existed.

    Raises InvalidArgument if the name is malformed.

        client.throttles.delete("mail-api")
    """
    text("throttle", name, client.core.limits.name)
    found = yield from on_all_shards(client.core, build("throttle_delete", list, [(name,)]))
    return any(was for [was] in found)


def throttle(client: ClientLike, name: str, *, count: int = 25) -> Operation[Throttle]:
    """Return a throttle: its limits, up to `count` running jobs, and the queues that it delays.

    A throttle that is not set has no limits.

    Raises InvalidArgument if the name is malformed or `count` is not from 1 to 1,000.

        throttle = client.throttles.get("mail-api")
        print(throttle.concurrency, throttle.running, throttle.held_up)
    """
    core = client.core
    text("throttle", name, core.limits.name)
    whole("count", count, 1, PAGE)
    call = build("throttle", list, name=name, most=count)
    replies = yield from ask_all(core, call)
    concurrency, rate, ttl = replies[0][:3]
    return Throttle(
        name=name,
        concurrency=None if concurrency in (None, b"none") else int(concurrency),
        rate=None if rate in (None, b"none") else rate_from_wire(rate.decode()),
        expires_in=None if ttl < 0 else ttl / 1000,
        running=sum(reply[3] for reply in replies),
        holders=[job_id.decode() for reply in replies for job_id in reply[4]][:count],
        held_up=sorted({queue.decode() for reply in replies for queue in reply[5]}),
    )


def throttles(client: ClientLike, *, offset: int = 0, count: int = 100) -> Operation[list[str]]:
    """Return a page of the names of the throttles that are set.

    Raises InvalidArgument if `offset` or `count` is out of range.
    """
    offset, count = page(offset, count)
    words = ("ZRANGE", client.core.key(0, keys.THROTTLES), offset, offset + count - 1)
    [found] = yield from raw(client.core, [(0, words)])
    return [name.decode() for name in found]
