"""Checks of the job scripts that need no model; the tests of planted faults run them too."""
