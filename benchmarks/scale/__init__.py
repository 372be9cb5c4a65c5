"""A drain of the same jobs over 1, 2 and 4 shards, and a model of a larger Cluster."""
