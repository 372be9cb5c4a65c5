"""Checks of the job scripts that need no model; planted faults run them too."""
