"""The settings of a run, which the driver sends to every task."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from headrace.codecs.codec import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The settings of a run, the same for all tasks. repr() hides the URL and its password."""

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
        """The session that the driver holds. The tasks end when it ends."""
        return f"spark-{self.run}"

    def worker(self, task: int, attempt: int, unique: str) -> str:
        """Return the worker name of a task."""
        return f"{self.session}-{task}-{attempt}-{unique}"
