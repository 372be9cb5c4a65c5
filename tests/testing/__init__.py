"""Tests of what Headrace offers to the tests of its users."""
