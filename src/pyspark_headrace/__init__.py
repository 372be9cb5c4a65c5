"""The package in which Spark looks for format("headrace")."""

from headrace.spark.source import HeadraceSource as DefaultSource

__all__ = ["DefaultSource"]
