"""The command `lake sync --follow` during outages of the server."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException

from headrace.cli.lake import sync
from headrace.errors import LakeRefused, ServerUnavailable
from headrace.spark.pipeline import SyncedBatch


def a_batch(number: int) -> SyncedBatch:
    return SyncedBatch(number=number, events=1, missing=0, files=1, bytes=1, seconds=0.1, behind=0)


AWAY = "PythonException: Traceback\nheadrace.errors.ServerUnavailable: no reply"


@pytest.mark.parametrize(
    "away", [ServerUnavailable("no reply", maybe_done=False), PySparkException(AWAY)]
)
def test_follow_continues_after_server_outage(
    away: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sync, "FIRST_PAUSE", 0.001)
    stopping = threading.Event()
    turns: list[list[SyncedBatch | Exception]] = [[a_batch(1), away], [away], [a_batch(2)]]

    def following() -> Iterator[SyncedBatch]:
        for turn in turns.pop(0):
            if isinstance(turn, Exception):
                raise turn
            yield turn
        if not turns:
            stopping.set()

    assert [batch.number for batch in sync.with_retries(following, stopping)] == [1, 2]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all("no reply; retrying in" in line for line in said)


def test_follow_ends_on_other_errors() -> None:
    def following() -> Iterator[SyncedBatch]:
        raise LakeRefused("a lake", "it has the events of another server")
        yield

    with pytest.raises(LakeRefused):
        list(sync.with_retries(following, threading.Event()))
