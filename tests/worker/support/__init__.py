"""Helpers of the worker tests: workers as processes or in the test, an app, and checks."""
