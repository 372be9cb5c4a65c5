-- feed_info: what is set of a feed, and what is counted.
--
-- args   feed
-- uses   keys
-- reply  {length, {name, value, ...}}; without names if it is not there

return { redis.call('ZCARD', key('order', feed)), redis.call('HGETALL', key('feed', feed)) }
