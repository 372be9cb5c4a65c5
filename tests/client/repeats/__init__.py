"""Calls that the client repeats because their answer was lost."""
