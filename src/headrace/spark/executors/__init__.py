"""Spark executors as workers: tasks that lease jobs in batches and process them."""
