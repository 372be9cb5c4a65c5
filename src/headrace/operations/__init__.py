"""Operations are generators that do no I/O. The sync client and the async client share them.

Internal: the API may change without notice.
"""
