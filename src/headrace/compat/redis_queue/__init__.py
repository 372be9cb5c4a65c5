"""The API of redis-queue: a popped id comes back after a timeout until it is marked as done."""

from headrace.compat.redis_queue.client import AsyncRedisQueue, RedisQueue

__all__ = ["AsyncRedisQueue", "RedisQueue"]
