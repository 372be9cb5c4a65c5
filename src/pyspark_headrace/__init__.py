"""Spark looks here for format("headrace")."""

from headrace.spark.source import HeadraceSource as DefaultSource

__all__ = ["DefaultSource"]
