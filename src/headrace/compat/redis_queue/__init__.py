"""The API of redis-queue: a popped id is redelivered after a timeout unless marked as done."""

from headrace.compat.redis_queue.client import AsyncRedisQueue, RedisQueue

__all__ = ["AsyncRedisQueue", "RedisQueue"]
