-- queue_capacity: return how many more jobs of a queue may start now under its own limits, and when the
-- next one may.
--
-- uses   keys now settings sorted_sets gates

return function(queue)
  local limits = settings(queue)
  if limits.concurrency then
    flush_zsets()
    local free = shard_share(limits.concurrency, limits.shards)
      - redis.call('ZCOUNT', key('running', queue), '(' .. now, '+inf')
    if free <= 0 then
      local first = redis.call('ZRANGE', key('running', queue), '(' .. now, '+inf', 'BYSCORE', 'LIMIT',
        0, 1, 'WITHSCORES')
      return 0, tonumber(first[2] or math.huge)
    elseif not limits.rate then
      return free, now
    end
    local starts, moment = starts_left('q' .. queue, shard_share(limits.rate, limits.shards))
    return math.min(free, starts), moment
  elseif limits.rate then
    return starts_left('q' .. queue, shard_share(limits.rate, limits.shards))
  end
  return math.huge, now
end
