"""The command `headrace`: its subcommands, their options and their output.

Internal: the API may change without notice.
"""
