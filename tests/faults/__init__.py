"""Tests that kill processes."""
