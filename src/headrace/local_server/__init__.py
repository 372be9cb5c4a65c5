"""Servers on this machine: the embedded server, and private servers for tests.

Internal: the API may change without notice.
"""
