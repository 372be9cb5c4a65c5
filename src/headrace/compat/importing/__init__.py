"""`headrace import`: import the data of thoonk, qless, worqr or redis-queue into a namespace.

Internal: the API may change without notice.
"""
