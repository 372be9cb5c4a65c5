"""Applications that the benchmarks run."""
