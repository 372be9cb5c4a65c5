-- throttle_set: set the limits of throttles; 'none' means no limit. A throttle ends after its `ttl` in
-- milliseconds, or never if the ttl is -1. Lanes that are parked at the throttles are checked again.
--
-- args   shards:int
-- each   name concurrency rate ttl:int
-- flags  allow-oom
-- nonce  always
-- uses   lanes keys now sorted_sets write_back gates change_limits
-- reply  1

for name, concurrency, rate, ttl in each() do
  local old_rate, old_shards = unpack(redis.call('HMGET', key('throttle', name), 'rate', 'shards'))
  redis.call('HSET', key('throttle', name), 'concurrency', concurrency, 'rate', rate, 'shards', shards)
  convert_rate('t' .. name, shard_share(old_rate, old_shards), shard_share(rate, shards))
  zset_add(THROTTLES, name, ttl >= 0 and now + ttl or 'inf')
  zset_remove(AGENDA, 'throttle:' .. name)
  if ttl >= 0 then
    zset_add(AGENDA, 'throttle:' .. name, now + ttl)
  end
  free_gate('t' .. name)
end
return write_back(1)
