-- feed_info: return the settings and counters of a feed.
--
-- args   feed
-- flags  no-writes
-- uses   keys
-- reply  {length, {name, value, ...}}; an unknown feed has no fields

return { redis.call('ZCARD', key('order', feed)), redis.call('HGETALL', key('feed', feed)) }
