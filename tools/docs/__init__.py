"""Generators of documentation pages: from the code, and from benchmark results."""
