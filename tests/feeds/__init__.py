"""Feeds: what a model of them says, the server does."""
