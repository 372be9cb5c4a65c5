"""The API of worqr: if a worker sends no heartbeats, its tasks return to the front of the queue."""

from headrace.compat.worqr.client import AsyncWorqr, Worqr
from headrace.compat.worqr.tasks import WorqrProcess as Process

__all__ = ["AsyncWorqr", "Process", "Worqr"]
