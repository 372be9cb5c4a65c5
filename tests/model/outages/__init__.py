"""A model of outages: which sessions live on, and which jobs lose a retry."""
