"""Tests of the compatibility APIs and of the importer."""
