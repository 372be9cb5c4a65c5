-- throttles: the names of the throttles that are set.
--
-- args   offset:int count:int
-- uses   keys
-- reply  name, ...

return redis.call('ZRANGE', THROTTLES, offset, offset + count - 1)
