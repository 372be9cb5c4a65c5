"""Limits and fair turns."""
