"""A session starts, is renewed and ends once, even if a call is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, SessionEnded
from headrace.testing import Clock
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


async def test_a_session_begins_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "session_start"), moment)

    session = await got(hr.session("w", ttl=5))

    assert way.cuts == 1
    assert [worker.name for worker in calm.workers.list()] == ["w"]
    assert await got(session.renew()) == 5


async def test_repeated_session_start_keeps_jobs_popped_meanwhile(
    hr: Any, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(
        mark(calm, "session_start"),
        "before the answer",
        meanwhile=lambda: print(calm.queue("mail").pop("w")),
    )

    await got(hr.session("w"))

    assert happened(calm) == ["put", "popped"]


async def test_session_renewal_can_be_repeated(
    hr: Any, calm: Client, clock: Clock, way: Way, moment: str
) -> None:
    session = await got(hr.session("w", ttl=5))
    clock.tick(4)
    way.lose(mark(calm, "session_renew"), moment)

    assert await got(session.renew()) == 5

    assert way.cuts == 1
    assert [worker.expires_in for worker in calm.workers.list()] == [5]


async def test_a_renewal_that_comes_too_late_is_refused(
    hr: Any, calm: Client, clock: Clock, way: Way
) -> None:
    session = await got(hr.session("w", ttl=5))
    way.lose(mark(calm, "session_renew"), "before the request", meanwhile=lambda: clock.tick(5))

    with pytest.raises(SessionEnded):
        await got(session.renew())


async def test_a_session_ends_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    session = await got(hr.session("w"))
    await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "session_end"), moment)

    await got(session.end())

    assert way.cuts == 1
    assert calm.workers.list() == []
    assert happened(calm) == ["put", "popped", "lost"]


async def test_the_end_of_a_session_does_not_end_the_next_one_of_that_name(
    hr: Any, calm: Client, way: Way
) -> None:
    session = await got(hr.session("w"))
    way.lose(
        mark(calm, "session_end"), "before the answer", meanwhile=lambda: print(calm.session("w"))
    )

    await got(session.end())

    assert [worker.name for worker in calm.workers.list()] == ["w"]


async def test_serving_a_queue_begins_and_ends_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    session = await got(hr.session("w"))
    way.lose(mark(calm, "session_serve"), moment)
    assert await got(session.serve("mail")) == 1
    await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "session_unserve"), moment)

    await got(session.unserve("mail"))

    assert way.cuts == 2
    assert [worker.queues for worker in calm.workers.list()] == [[]]
    assert happened(calm) == ["put", "popped", "released"]
