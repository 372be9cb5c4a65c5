"""Spark executors as workers: tasks that lease jobs in batches and process them.

Internal: the API may change without notice.
"""
