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
class Desk:
    """The scripts of the sink on one shard."""

    hr: Client
    shard: int = 0

    def say(self, call: Call[Any], *, again: bool = False) -> Any:
        core = self.hr.core
        if again:
            [reply] = core.transport.send([(self.shard, core.words(self.shard, call, again=True))])
            return reply
        return drive(core.transport, ask_one(core, self.shard, call))

    def stage(self, parcel: str, *chunks: Sequence[Item], position: int = 0) -> Any:
        rows = [(packed_chunk(chunk),) for chunk in chunks]
        return self.say(build("stage", answer_of, rows, attempt=parcel, position=position))

    def prepare(
        self,
        bundle: str,
        *parcels: tuple[str, int],
        write: str = "batch:w",
        on_exists: str = "move",
        home: bool = True,
    ) -> Any:
        rows = [(name, order, chunks) for order, (name, chunks) in enumerate(parcels)]
        return self.say(
            build(
                "prepare",
                answer_of,
                rows,
                transaction=bundle,
                write=write,
                queue="mail",
                on_exists=on_exists,
                coordinator=int(home),
            )
        )

    def decide(
        self,
        bundle: str,
        write: str = "batch:w",
        batch: int = BATCH,
        rows: int = 0,
        parts: str = "",
    ) -> Any:
        def read(reply: Any) -> Any:
            if isinstance(reply, bytes):
                return reply.decode()
            return reply[0], text_map(reply[1])

        return self.say(
            build(
                "commit",
                read,
                write=write,
                batch=batch,
                transaction=bundle,
                queue="mail",
                rows=rows,
                parts=parts,
            )
        )

    def publish(self, bundle: str) -> Any:
        """Return whether rows are left, and how many were made, moved, replaced and skipped."""

        def read(reply: Any) -> Any:
            return reply.decode() if isinstance(reply, bytes) else [int(one or 0) for one in reply]

        return self.say(build("publish", read, transaction=bundle))

    def publish_all(self, bundle: str) -> Any:
        for _ in range(100):
            answer = self.publish(bundle)
            if answer[0] != 1:
                return answer
        raise AssertionError("publish does not terminate")

    def conclude(self, bundle: str, *tallies: int, write: str = "batch:w") -> Any:
        made, moved, replaced, skipped = tallies or (0, 0, 0, 0)
        rows = [("0", made, moved, replaced, skipped)]
        return self.say(build("finalize", text_map, rows, write=write, transaction=bundle))

    def discard(self, bundle: str, *parcels: str, home: bool = True) -> Any:
        rows = [(parcel,) for parcel in parcels]
        return self.say(
            build("discard", answer_of, rows, transaction=bundle, coordinator=int(home))
        )

    def bundles(self) -> list[list[str]]:
        found: list[list[str]] = self.say(build("open_transactions", answer_of, count=100))
        return found

    def written(self, write: str = "batch:w", bundle: str = "") -> tuple[dict[str, str], str]:
        def read(reply: Any) -> Any:
            return text_map(reply[0]), reply[1].decode()

        found: tuple[dict[str, str], str] = self.say(
            build("write_state", read, write=write, transaction=bundle)
        )
        return found

    def prepared(self, bundle: str, *names: str, **options: Any) -> None:
        """Prepare a bundle of one row for each name."""
        assert self.stage(f"parcel of {bundle}", [(name, b"1") for name in names]) == 1
        assert self.prepare(bundle, (f"parcel of {bundle}", 1), **options) == 1

    def decided(self, bundle: str, *names: str, **options: Any) -> None:
        """Decide a bundle of one row for each name."""
        self.prepared(bundle, *names, **options)
        [first, _] = self.decide(bundle, options.get("write", "batch:w"))
        assert first == 1


def names_in(hr: Client) -> list[str]:
    """Return the ids of the waiting jobs, in their order."""
    return [job.id for job in hr.queue("mail").jobs("waiting", count=1000).jobs]
