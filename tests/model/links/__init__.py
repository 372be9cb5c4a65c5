"""The model of dependencies and groups."""
