"""Compatibility APIs for thoonk, qless, worqr and redis-queue, and an importer for their data."""
