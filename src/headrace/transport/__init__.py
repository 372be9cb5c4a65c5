"""Transport: connections, subscriptions, and the drivers of operations."""
