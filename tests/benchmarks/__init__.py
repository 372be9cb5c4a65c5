"""What the benchmarks reckon, without measuring anything."""
