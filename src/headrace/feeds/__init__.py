"""Feeds: lists of items that stay until they are retracted.

Internal: import the public names from `headrace`. The modules may change without notice.
"""
