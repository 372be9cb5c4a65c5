"""The pipeline beside plain Python loops that do the same, in one run on this machine."""
