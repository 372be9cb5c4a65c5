"""Benchmarks that measure the speed of Headrace as ratios to other programs in the same run."""
