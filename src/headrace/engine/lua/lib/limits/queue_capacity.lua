-- queue_capacity: return how many more jobs of a queue may start now under the queue's own limits, and when
-- the next job may start.
--
-- uses   keys now settings sorted_sets endless_leases gates

local function queue_capacity(queue)
  local limits = settings(queue)
  local free, moment = math.huge, now
  if limits.rate then
    free, moment = starts_left('q' .. queue, shard_share(limits.rate, limits.shards))
  end
  if limits.concurrency then
    flush_zsets()
    local room = shard_share(limits.concurrency, limits.shards)
      - redis.call('ZCOUNT', key('running', queue), '(' .. now, '+inf')
    if room <= 0 then
      local first = redis.call('ZRANGE', key('running', queue), '(' .. now, '+inf', 'BYSCORE', 'LIMIT',
        0, 1, 'WITHSCORES')
      return 0, end_of_lease(first[2])
    end
    free = math.min(free, room)
  end
  return free, moment
end
