-- feed_info: return the settings and counters of a feed.
--
-- args   feed
-- uses   keys
-- reply  {length, {name, value, ...}}; no fields if there is no such feed

return { redis.call('ZCARD', key('order', feed)), redis.call('HGETALL', key('feed', feed)) }
