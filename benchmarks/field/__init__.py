"""The field: Headrace beside other queues, on one server in one run."""
