"""The comparison: Headrace and other queues on one server in one run."""
