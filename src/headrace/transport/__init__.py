"""Transport: connections, subscriptions, and the drivers of operations.

Internal: the API may change without notice.
"""
