-- ensure_queue: create a queue at its first use.
--
-- uses   keys now settings

local function ensure_queue(queue)
  if settings(queue).created then
    return
  end
  redis.call('HSET', key('settings', queue), 'created', now)
  redis.call('ZADD', QUEUES, redis.call('HINCRBY', LOG, 'queues', 1), queue)
  settings(queue).created = now
end
