-- throttle_set: set the limits of throttles ('none' for no limit), each for a time or, with a ttl of -1,
-- permanently. Lanes parked there are checked again.
--
-- args   shards:int
-- each   name concurrency rate ttl:int
-- flags  allow-oom
-- uses   keys now sorted_sets lane_access write_back
-- reply  1

for name, concurrency, rate, ttl in each() do
  redis.call('HSET', key('throttle', name), 'concurrency', concurrency, 'rate', rate, 'shards', shards)
  zset_add(THROTTLES, name, ttl >= 0 and now + ttl or 'inf')
  zset_remove(AGENDA, 'throttle:' .. name)
  if ttl >= 0 then
    zset_add(AGENDA, 'throttle:' .. name, now + ttl)
  end
  lanes('free', 't' .. name)
end
return write_back(1)
