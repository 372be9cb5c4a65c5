"""Helpers of the engine tests."""
