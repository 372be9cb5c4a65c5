"""Jobs that wait for jobs: a small model, and the scripts beside it."""
