"""The same drain over several shards, and a model of more nodes."""
