"""The model of jobs, queues, leases and sessions."""
