"""redis-queue: what is popped comes back when it is late, until it is marked as done."""

from headrace.compat.redis_queue.queue import AsyncRedisQueue, RedisQueue

__all__ = ["AsyncRedisQueue", "RedisQueue"]
