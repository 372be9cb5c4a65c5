"""The pipeline compared with plain Python loops that do the same."""
