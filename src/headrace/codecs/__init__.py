"""Codecs, which encode the data of jobs to bytes.

Internal: import the public names from `headrace`. The modules may change without notice.
"""
