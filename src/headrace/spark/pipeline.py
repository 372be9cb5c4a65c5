"""The pipeline: events from the log of the server into a lake, and out of it."""

from __future__ import annotations

from headrace.spark.stored import lake_events

__all__ = ["lake_events"]
