"""The words of redis-queue: the example of its document, and each of its sentences."""
