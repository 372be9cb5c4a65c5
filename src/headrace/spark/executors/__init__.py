"""Executors as workers: tasks of a Spark job that lease jobs in batches and work them off."""
