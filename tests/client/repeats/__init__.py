"""Calls that are made again because their answer was lost."""
