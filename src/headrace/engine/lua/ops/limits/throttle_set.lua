-- throttle_set: sets the limits of throttles ('none' for no limit), each for a time or, with a ttl of -1,
-- for good. What is parked there is looked at again.
--
-- args   shards:int
-- each   name concurrency rate ttl:int
-- flags  allow-oom
-- uses   keys now places in_lanes commit
-- reply  1

for name, concurrency, rate, ttl in each() do
  redis.call('HSET', key('throttle', name), 'concurrency', concurrency, 'rate', rate, 'shards', shards)
  place(THROTTLES, name, ttl >= 0 and now + ttl or 'inf')
  lift(AGENDA, 'throttle:' .. name)
  if ttl >= 0 then
    place(AGENDA, 'throttle:' .. name, now + ttl)
  end
  lanes('free', 't' .. name)
end
return commit(1)
