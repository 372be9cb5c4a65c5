"""The engine: Lua scripts, calls and replies, settings, states and events. It does no I/O."""
