"""Codecs: how the data of a job becomes bytes."""
