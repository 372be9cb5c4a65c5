"""Feeds: lists of items that stay until they are retracted."""
