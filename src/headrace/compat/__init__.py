"""Compatibility APIs of thoonk, qless, worqr and redis-queue, and the importer of their data."""
