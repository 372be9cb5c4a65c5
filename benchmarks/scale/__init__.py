"""The same drain over more shards, and what more nodes would do."""
