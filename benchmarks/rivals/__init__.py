"""Others who do the same, each with its own environment under benchmarks/.rivals."""
