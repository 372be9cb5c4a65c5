"""Tests of dependencies and groups."""
