"""The public classes: clients, queues, leases, sessions, groups and watches, sync and async.

Internal: import the public names from `headrace`. The modules may change without notice.
"""
