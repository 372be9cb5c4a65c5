"""What is refused answers False, or raises where that was asked for."""

from __future__ import annotations

from typing import Literal, TypeVar

from headrace.compat.qless.dialect import Dialect
from headrace.compat.qless.errors import LostLockException, QlessException
from headrace.errors import JobNotFound, LeaseLost, ScheduleNotFound, WrongState
from headrace.transport.drive import Operation

T = TypeVar("T")


def unless_refused(dialect: Dialect, operation: Operation[T]) -> Operation[T | Literal[False]]:
    """What the talk comes to, or False if the job is not one that this applies to."""
    try:
        return (yield from operation)
    except LeaseLost as error:
        if dialect.raises:
            raise LostLockException(str(error)) from error
    except (JobNotFound, ScheduleNotFound, WrongState) as error:
        if dialect.raises:
            raise QlessException(str(error)) from error
    return False
