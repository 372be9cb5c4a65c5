"""The client detects and reports rows of a committed write that a server has lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from headrace import Client, WriteLost, WriteStatus
from headrace.operations import writes
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive
from tests.engine.support.sink_scripts import SinkScripts, names_in
from tests.support.interrupted_write import write_and_die

DAY = 86_400
WRITE = writes.batch_write("w", "mail", "move")
IDS = [f"job{number}" for number in range(12)]


@pytest.fixture(params=[1, 3])
def opened(url: str, request: pytest.FixtureRequest) -> Iterator[tuple[Client, Clock]]:
    client, clock = open_with_clock(url, shards=request.param)
    with client:
        yield client, clock


def committed(hr: Client) -> str:
    return write_and_die(hr, [(name, b"1") for name in IDS])


def lose(hr: Client, shard: int, *roles: str) -> None:
    """Delete keys of a shard, as a server that loses data."""
    for role in roles:
        hr.core.transport.send([(shard, ("DEL", hr.core.key(shard, role)))])


def publish_and_finalize(hr: Client, transaction: str) -> WriteStatus:
    return drive(hr.core.transport, writes.publish_and_finalize(hr.core, WRITE.name, transaction))


def test_rows_lost_by_a_shard_are_counted_and_reported(opened: tuple[Client, Clock]) -> None:
    hr, _ = opened
    coordinator = hr.core.shard_of(WRITE.name)
    other = (coordinator + 1) % hr.core.shards
    rows = Counter(hr.core.shard_of(name) for name in IDS)
    transaction = committed(hr)
    lose(hr, other, "staged:attempt")

    written = publish_and_finalize(hr, transaction)

    assert written.lost == {other: rows[other]}
    assert written.made == 12 - rows[other]
    assert hr.writes.get("w") == written
    message = f"'w': shard {other} lacks {rows[other]} of its 12 rows"
    with pytest.raises(WriteLost, match=message) as lost:
        writes.check_complete(written)
    assert lost.value.lost == written.lost
    with pytest.raises(WriteLost, match=message):
        committed(hr)


def test_shard_that_lost_its_part_is_found_on_resume(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr:
        other = (hr.core.shard_of(WRITE.name) + 1) % 3
        transaction = committed(hr)
        lose(
            hr,
            other,
            "staged:attempt",
            f"attempts:{transaction}",
            f"transaction:{transaction}",
            "transactions",
        )
        clock.tick(2)

        [written] = hr.sweep()

        assert list(written.lost) == [other]
        assert hr.sweep() == []


def test_complete_write_reports_no_loss(opened: tuple[Client, Clock]) -> None:
    hr, clock = opened
    transaction = committed(hr)
    clock.tick(2)
    hr.sweep()

    again = publish_and_finalize(hr, transaction)

    assert (again.lost, again.made) == ({}, 12)
    writes.check_complete(again)


def test_rows_that_may_have_expired_are_not_reported_as_lost(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr:
        transaction = committed(hr)
        for shard in range(3):
            drive(hr.core.transport, writes.publish_on(hr.core, WRITE.name, shard, transaction))
        for _ in range(2):
            clock.tick(4 * DAY)
            hr.queue("other").put_many(range(30))

        assert publish_and_finalize(hr, transaction).lost == {}
        assert len(names_in(hr)) == 12


def test_error_says_that_the_server_no_longer_knows_the_write(opened: tuple[Client, Clock]) -> None:
    hr, clock = opened
    coordinator = hr.core.shard_of(WRITE.name)
    transaction = committed(hr)
    lose(hr, coordinator, f"transaction:{transaction}", f"attempts:{transaction}")
    with pytest.raises(WriteLost, match="no longer knows the write"):
        publish_and_finalize(hr, transaction)
    lose(hr, coordinator, f"write:{WRITE.name}")
    with pytest.raises(WriteLost, match="no longer knows the write"):
        publish_and_finalize(hr, transaction)
    clock.tick(2)
    assert hr.sweep() == []


def test_unpublishable_write_is_removed_from_the_commit_log(hr: Client, clock: Clock) -> None:
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "a")
    lose(hr, 0, "transaction:t", "attempts:t")
    clock.tick(7 * DAY)
    hr.sweep()

    assert sink.state() == ({}, "")


def test_empty_write_can_be_written_after_an_abort(opened: tuple[Client, Clock]) -> None:
    hr, _ = opened
    drive(hr.core.transport, writes.abort(hr.core, WRITE, []))

    transaction = drive(hr.core.transport, writes.commit(hr.core, WRITE, []))

    assert transaction is not None
    assert publish_and_finalize(hr, transaction).rows == 0
