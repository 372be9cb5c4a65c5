"""The public classes: clients, queues, leases, sessions, groups and watches, sync and async."""
