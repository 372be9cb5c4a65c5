"""The tasks and configurations of the compared queues."""
