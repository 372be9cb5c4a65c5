-- queues: the names of the queues, in the order of their first use.
--
-- args   offset:int count:int
-- uses   keys
-- reply  {name, first use, ...}

return redis.call('ZRANGE', QUEUES, offset, offset + count - 1, 'WITHSCORES')
