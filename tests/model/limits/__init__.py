"""The model of concurrency and rate limits."""
