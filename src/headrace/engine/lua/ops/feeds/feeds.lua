-- feeds: the names of the feeds in the order in which they were made, and how many changes of feeds
-- there were.
--
-- args   offset:int count:int
-- uses   keys
-- reply  {changes, {name, when it was made, ...}}

return {
  tonumber(redis.call('HGET', LOG, 'changes') or 0),
  redis.call('ZRANGE', FEEDS, offset, offset + count - 1, 'WITHSCORES'),
}
