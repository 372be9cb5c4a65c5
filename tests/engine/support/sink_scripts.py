"""The scripts of the Spark sink, called one by one and in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace import Client
from headrace.engine.call import Call, build
from headrace.operations.putting import Item
from headrace.operations.queues import text_map
from headrace.operations.requests import ask_one
from headrace.operations.staging import packed_chunk
from headrace.transport.drive import drive

BATCH = -1


def answer_of(reply: Any) -> Any:
    """Return an answer with texts instead of bytes."""
    if isinstance(reply, list):
        return [answer_of(one) for one in reply]
    return reply.decode() if isinstance(reply, bytes) else reply


@dataclass
class SinkScripts:
    """The scripts of the sink on one shard."""

    hr: Client
    shard: int = 0

    def ask(self, call: Call[Any], *, again: bool = False) -> Any:
        core = self.hr.core
        if again:
            [reply] = core.transport.send([(self.shard, core.words(self.shard, call, again=True))])
            return reply
        return drive(core.transport, ask_one(core, self.shard, call))

    def stage(self, attempt: str, *chunks: Sequence[Item], position: int = 0) -> Any:
        rows = [(packed_chunk(chunk),) for chunk in chunks]
        return self.ask(build("stage", answer_of, rows, attempt=attempt, position=position))

    def prepare(
        self,
        transaction: str,
        *attempts: tuple[str, int],
        write: str = "batch:w",
        on_exists: str = "move",
        coordinator: bool = True,
    ) -> Any:
        rows = [(name, order, chunks) for order, (name, chunks) in enumerate(attempts)]
        return self.ask(
            build(
                "prepare",
                answer_of,
                rows,
                transaction=transaction,
                write=write,
                queue="mail",
                on_exists=on_exists,
                coordinator=int(coordinator),
            )
        )

    def commit(
        self,
        transaction: str,
        write: str = "batch:w",
        batch: int = BATCH,
        rows: int = 0,
        parts: str = "",
    ) -> Any:
        def read(reply: Any) -> Any:
            if isinstance(reply, bytes):
                return reply.decode()
            return reply[0], text_map(reply[1])

        return self.ask(
            build(
                "commit",
                read,
                write=write,
                batch=batch,
                transaction=transaction,
                queue="mail",
                rows=rows,
                parts=parts,
            )
        )

    def publish(self, transaction: str) -> Any:
        """Return whether rows are left, and how many were made, moved, replaced and skipped."""

        def read(reply: Any) -> Any:
            return reply.decode() if isinstance(reply, bytes) else [int(one or 0) for one in reply]

        return self.ask(build("publish", read, transaction=transaction))

    def publish_all(self, transaction: str) -> Any:
        for _ in range(100):
            answer = self.publish(transaction)
            if answer[0] != 1:
                return answer
        raise AssertionError("publish does not terminate")

    def finalize(self, transaction: str, *counts: int, write: str = "batch:w") -> Any:
        made, moved, replaced, skipped = counts or (0, 0, 0, 0)
        rows = [("0", made, moved, replaced, skipped)]
        return self.ask(build("finalize", text_map, rows, write=write, transaction=transaction))

    def discard(self, transaction: str, *attempts: str, coordinator: bool = True) -> Any:
        rows = [(attempt,) for attempt in attempts]
        return self.ask(
            build("discard", answer_of, rows, transaction=transaction, coordinator=int(coordinator))
        )

    def open_transactions(self) -> list[list[str]]:
        found: list[list[str]] = self.ask(build("open_transactions", answer_of, count=100))
        return found

    def state(self, write: str = "batch:w", transaction: str = "") -> tuple[dict[str, str], str]:
        def read(reply: Any) -> Any:
            return text_map(reply[0]), reply[1].decode()

        found: tuple[dict[str, str], str] = self.ask(
            build("write_state", read, write=write, transaction=transaction)
        )
        return found

    def stage_and_prepare(self, transaction: str, *names: str, **options: Any) -> None:
        """Stage one row for each name and prepare them as a transaction."""
        assert self.stage(f"attempt of {transaction}", [(name, b"1") for name in names]) == 1
        assert self.prepare(transaction, (f"attempt of {transaction}", 1), **options) == 1

    def stage_and_commit(self, transaction: str, *names: str, **options: Any) -> None:
        """Stage, prepare and commit one row for each name."""
        self.stage_and_prepare(transaction, *names, **options)
        [first, _] = self.commit(transaction, options.get("write", "batch:w"))
        assert first == 1


def names_in(hr: Client) -> list[str]:
    """Return the ids of the waiting jobs, in their order."""
    return [job.id for job in hr.queue("mail").jobs("waiting", count=1000).jobs]
