"""Benchmarks that compare the Spark pipeline with plain Python loops for the same work."""
