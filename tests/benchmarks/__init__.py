"""Tests of the benchmarks' arithmetic and reports."""
