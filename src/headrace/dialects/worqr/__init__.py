"""worqr: tasks for workers that stay alive; what a dead one was at goes back to the front."""

from headrace.dialects.worqr.values import Process
from headrace.dialects.worqr.worqr import AsyncWorqr, Worqr

__all__ = ["AsyncWorqr", "Process", "Worqr"]
