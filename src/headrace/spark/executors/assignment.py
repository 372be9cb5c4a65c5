"""What a task is to do, as it travels from the driver to an executor."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from headrace.codecs.codec import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One for all tasks of a run. The URL may hold a password, so it is not shown."""

    run: str
    url: str = field(repr=False)
    namespace: str
    queue: str
    codec: Codec
    function: bytes = field(repr=False)
    batch: int
    frame: str
    schema: pa.Schema | None
    next: str | None
    ends_when_empty: bool

    @property
    def session(self) -> str:
        """The session of the run, held by the driver: when it ends, tasks end."""
        return f"spark-{self.run}"

    def worker(self, task: int, attempt: int, unique: str) -> str:
        """The name of a task as a worker."""
        return f"{self.session}-{task}-{attempt}-{unique}"
