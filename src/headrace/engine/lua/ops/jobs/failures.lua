-- failures: return failure types with their counts, the most frequent first.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys
-- reply  {type, count, ...}

return redis.call('ZREVRANGE', FAILURE_TYPES, offset, offset + count - 1, 'WITHSCORES')
