"""The worker: processes that pop jobs, run the jobs' tasks and acknowledge the outcomes.

Internal: the API may change without notice.
"""
