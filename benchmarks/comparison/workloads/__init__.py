"""The workloads, one per file: each takes a competitor and returns figures by name."""
