"""worqr: tasks for workers that stay alive; what a dead one was at goes back to the front."""

from headrace.compat.worqr.values import Process
from headrace.compat.worqr.worqr import AsyncWorqr, Worqr

__all__ = ["AsyncWorqr", "Process", "Worqr"]
