"""The API of worqr: workers with heartbeats; the tasks of a dead worker return to the front."""

from headrace.compat.worqr.client import AsyncWorqr, Worqr
from headrace.compat.worqr.tasks import WorqrProcess as Process

__all__ = ["AsyncWorqr", "Process", "Worqr"]
