"""Spark looks here for format("headrace")."""
