"""The engine: Lua scripts, calls, settings, states and events. The engine does no I/O.

Internal: the API may change without notice.
"""
