"""Queue: who gets an item has it, and nothing of it is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import Client, HeadraceError, InvalidArgument
from headrace.compat.thoonk import Empty, FeedDoesNotExist, Thoonk, jobs
from headrace.transport.drive import Operation
from tests.dialects.thoonk.steps import begun, changes, keys, tried
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.clients import got
from tests.support.dump import dump


@proves("T-30", "T-31")
async def test_publish_and_put_are_the_same_and_make_new_ids(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))

    put = [await got(mail.put("same")), await got(mail.publish("same")), await got(mail.put("x"))]

    assert len(set(put)) == 3
    assert all(len(one) == 16 for one in put)
    assert [await got(mail.get(1)) for _ in range(3)] == ["same", "same", "x"]
    with pytest.raises(TypeError):
        await got(mail.put("item", id="mine"))


@proves("T-31", "TD-10")
def test_a_put_and_a_get_are_one_step_each(hr: Client, plain: Thoonk) -> None:
    mail = plain.queue("mail")

    assert changes(hr, jobs.put(mail, "item")) == 1
    assert changes(hr, jobs.get(mail, 1)) == 1


@proves("T-32")
async def test_items_leave_in_the_order_in_which_they_came(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    for item in (10, 20, 30, 40):
        await got(mail.put(item))

    assert [await got(mail.get(1)) for _ in range(4)] == [10, 20, 30, 40]


@proves("T-32", "T-33")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
async def test_a_get_waits_for_an_item(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    mail = await got(thoonk.queue("mail"))
    getting = begun(mail.get, *span)
    await asyncio.to_thread(until_listened_to, hr, "queue:mail")

    await got(mail.put("item"))

    assert await asyncio.wait_for(getting, 20) == "item"


@proves("T-33")
async def test_a_get_in_vain_changes_nothing(thoonk: Any, hr: Client) -> None:
    mail = await got(thoonk.queue("mail"))
    before = dump(hr)

    assert "within 0.01 seconds" in await tried(Empty, mail.get, 0.01)

    assert dump(hr) == before


@pytest.mark.parametrize("span", [-1, "soon", float("nan")])
async def test_a_time_that_makes_no_sense_is_refused(thoonk: Any, hr: Client, span: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    await got(mail.put("item"))
    before = dump(hr)

    await tried(InvalidArgument, mail.get, span)

    assert dump(hr) == before


@proves("T-34")
async def test_nothing_is_left_of_an_item_that_somebody_got(thoonk: Any, hr: Client) -> None:
    mail = await got(thoonk.queue("mail"))
    empty = keys(hr)
    await got(mail.put("x" * 5000))

    await got(mail.get(1))

    assert keys(hr) == empty | {"books:mail"}
    assert hr.queue("mail").counts().length == 0
    assert hr.audit().balanced


@proves("T-34")
async def test_each_item_goes_to_one_consumer(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    getting = [begun(mail.get, 20) for _ in range(4)]

    for number in range(4):
        await got(mail.put(number))

    assert sorted(await asyncio.gather(*getting)) == [0, 1, 2, 3]


@proves("T-07")
@pytest.mark.parametrize("made", ["before", "meanwhile"])
def test_nothing_is_put_into_a_feed_that_is_deleted_in_that_moment(
    hr: Client, plain: Thoonk, made: str
) -> None:
    mail = plain.queue("mail")
    putting = jobs.put(mail, "item")
    wish = next(putting)
    answer = hr.core.transport.send(wish.commands)
    if made == "before":
        plain.delete_feed("mail")
    wish = putting.send(answer)
    answer = hr.core.transport.send(wish.commands)
    if made == "meanwhile":
        plain.delete_feed("mail")

    error = FeedDoesNotExist if made == "before" else None
    assert carried_out(hr, putting, answer) is error
    assert hr.queue("mail").counts().length == 0
    assert hr.audit().balanced


def carried_out(hr: Client, operation: Operation[Any], answer: Any) -> type[Exception] | None:
    """Carries out what is left of a talk, and says by which error it ended."""
    try:
        while True:
            answer = hr.core.transport.send(operation.send(answer).commands)
    except StopIteration:
        return None
    except HeadraceError as error:
        return type(error)


@proves("T-59", "T-74")
async def test_the_order_of_what_waits_is_visible_back_to_front(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    put = [await got(mail.put(item)) for item in "abc"]

    assert await got(mail.get_ids()) == put[::-1]
    assert list((await got(mail.get_all())).values()) == ["c", "b", "a"]
    assert await got(mail.length()) == 3
    assert await got(mail.get_item(put[0])) == "a"
    assert await got(mail.has_id(put[0]))
    assert await got(mail.get_item("bogus")) is None
    assert not await got(mail.has_id("bogus"))


async def test_an_item_of_high_priority_goes_before_the_others(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    for item, priority in (("a", None), ("b", None), ("H1", mail.HIGH), ("H2", mail.HIGH)):
        await got(mail.put(item, priority))

    assert [await got(mail.get(1)) for _ in range(4)] == ["H1", "H2", "a", "b"]


async def test_an_item_that_waits_can_be_retracted(thoonk: Any) -> None:
    mail = await got(thoonk.queue("mail"))
    first, second = await got(mail.put("same")), await got(mail.put("same"))

    await got(mail.retract(first))
    await got(mail.retract("bogus"))

    assert await got(mail.get_ids()) == [second]


def test_all_that_waits_is_listed_however_much(
    plain: Thoonk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PAGE", 2)
    mail = plain.queue("mail")
    put = [mail.put(number) for number in range(5)]

    assert mail.get_ids() == put[::-1]


def test_a_queue_is_an_ordinary_queue(hr: Client, plain: Thoonk) -> None:
    plain.queue("mail").put({"to": "ada"})

    assert hr.queues()["mail"].waiting == 1
    [lease] = hr.queue("mail").pop("w")
    assert lease.data == {"to": "ada"}
    assert hr.audit().balanced
