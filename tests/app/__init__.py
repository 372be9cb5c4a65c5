"""Tests of apps and tasks."""
