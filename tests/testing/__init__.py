"""Tests of the helpers that Headrace offers for users' tests."""
