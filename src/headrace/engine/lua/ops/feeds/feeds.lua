-- feeds: return the names of feeds in the order of their creation, and the number of feed changes so far.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys
-- reply  {changes, {name, number of creation, ...}}

return {
  tonumber(redis.call('HGET', LOG, 'changes') or 0),
  redis.call('ZRANGE', FEEDS, offset, offset + count - 1, 'WITHSCORES'),
}
