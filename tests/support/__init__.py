"""Helpers that every part of the test suite uses."""
