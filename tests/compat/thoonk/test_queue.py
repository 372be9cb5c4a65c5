"""Queue: get returns an item and removes it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, HeadraceError, InvalidArgument
from headrace.compat.thoonk import Empty, FeedDoesNotExist, Thoonk, job_feeds
from headrace.transport.drive import Operation
from tests.compat.thoonk.support.steps import begun, changes, keys, operation_of, tried
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.dump import dump


@proves("T-30", "T-31")
def test_publish_and_put_make_new_ids(thoonk: Any) -> None:
    mail = thoonk.queue("mail")

    put = [mail.put("same"), mail.publish("same"), mail.put("x")]

    assert len(set(put)) == 3
    assert all(len(one) == 16 for one in put)
    assert [mail.get(1) for _ in range(3)] == ["same", "same", "x"]
    with pytest.raises(TypeError):
        mail.put("item", id="mine")


@proves("T-31", "TD-10")
def test_put_and_get_are_one_step_each(hr: Client, plain: Thoonk) -> None:
    mail = plain.queue("mail")

    assert changes(hr, operation_of(mail, "put", "item")) == 1
    assert changes(hr, operation_of(mail, "get", 1)) == 1


@proves("T-32")
def test_items_are_returned_in_put_order(thoonk: Any) -> None:
    mail = thoonk.queue("mail")
    for item in (10, 20, 30, 40):
        mail.put(item)

    assert [mail.get(1) for _ in range(4)] == [10, 20, 30, 40]


@proves("T-32", "T-33")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
def test_get_waits_for_an_item(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    mail = thoonk.queue("mail")
    getting = begun(mail.get, *span)
    until_listened_to(hr, "queue:mail")

    mail.put("item")

    assert getting.result(20) == "item"


@proves("T-33")
def test_get_without_an_item_changes_nothing(thoonk: Any, hr: Client) -> None:
    mail = thoonk.queue("mail")
    before = dump(hr)

    assert "within 0.01 seconds" in tried(Empty, mail.get, 0.01)

    assert dump(hr) == before


@pytest.mark.parametrize("span", [-1, "soon", float("nan")])
def test_invalid_timeout_is_refused(thoonk: Any, hr: Client, span: Any) -> None:
    mail = thoonk.queue("mail")
    mail.put("item")
    before = dump(hr)

    tried(InvalidArgument, mail.get, span)

    assert dump(hr) == before


@proves("T-34")
def test_get_leaves_no_keys_of_the_item(thoonk: Any, hr: Client) -> None:
    mail = thoonk.queue("mail")
    empty = keys(hr)
    mail.put("x" * 5000)

    mail.get(1)

    assert keys(hr) == empty | {"books:mail"}
    assert hr.queue("mail").counts().length == 0
    assert hr.audit().balanced


@proves("T-34")
def test_each_item_goes_to_one_consumer(thoonk: Any) -> None:
    mail = thoonk.queue("mail")
    getting = [begun(mail.get, 20) for _ in range(4)]

    for number in range(4):
        mail.put(number)

    assert sorted(each.result(20) for each in getting) == [0, 1, 2, 3]


@proves("T-07")
@pytest.mark.parametrize("made", ["before", "meanwhile"])
def test_put_into_a_feed_that_is_being_deleted_is_undone(
    hr: Client, plain: Thoonk, made: str
) -> None:
    mail = plain.queue("mail")
    putting = operation_of(mail, "put", "item")
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
    """Run the rest of an operation and return the error that ended it."""
    try:
        while True:
            answer = hr.core.transport.send(operation.send(answer).commands)
    except StopIteration:
        return None
    except HeadraceError as error:
        return type(error)


@proves("T-59", "T-74")
def test_waiting_items_are_listed_with_the_next_one_last(thoonk: Any) -> None:
    mail = thoonk.queue("mail")
    put = [mail.put(item) for item in "abc"]

    assert mail.get_ids() == put[::-1]
    assert list(mail.get_all().values()) == ["c", "b", "a"]
    assert mail.length() == 3
    assert mail.get_item(put[0]) == "a"
    assert mail.has_id(put[0])
    assert mail.get_item("bogus") is None
    assert not mail.has_id("bogus")


@proves("TL-05")
def test_items_of_high_priority_are_inserted_at_the_front(thoonk: Any) -> None:
    mail = thoonk.queue("mail")
    for item, priority in (("a", None), ("b", None), ("H1", mail.HIGH), ("H2", mail.HIGH)):
        mail.put(item, priority)

    assert [mail.get(1) for _ in range(4)] == ["H2", "H1", "a", "b"]


def test_waiting_item_can_be_retracted(thoonk: Any) -> None:
    mail = thoonk.queue("mail")
    first, second = mail.put("same"), mail.put("same")

    mail.retract(first)
    mail.retract("bogus")

    assert mail.get_ids() == [second]


def test_waiting_items_of_several_pages_are_listed(
    plain: Thoonk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_feeds, "PAGE", 2)
    mail = plain.queue("mail")
    put = [mail.put(number) for number in range(5)]

    assert mail.get_ids() == put[::-1]


def test_queue_is_a_headrace_queue(hr: Client, plain: Thoonk) -> None:
    plain.queue("mail").put({"to": "ada"})

    assert hr.queues()["mail"].waiting == 1
    [lease] = hr.queue("mail").pop("w")
    assert lease.data == {"to": "ada"}
    assert hr.audit().balanced
