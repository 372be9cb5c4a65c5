"""A part of a dialect: it goes through the same core."""

from __future__ import annotations

from typing import Protocol

from headrace.client.core import Core
from headrace.dialects.qless.dialect import Dialect


class Opened(Protocol):
    """A dialect that is open, or will be."""

    @property
    def core(self) -> Core: ...

    @property
    def dialect(self) -> Dialect: ...


class Part:
    """What hangs on a Qless or an AsyncQless."""

    def __init__(self, whole: Opened) -> None:
        self._whole = whole
        self.dialect = whole.dialect

    @property
    def core(self) -> Core:
        return self._whole.core
