"""The model of feeds."""
