"""Compatibility APIs of thoonk, qless, worqr and redis-queue, and an importer of their data."""
