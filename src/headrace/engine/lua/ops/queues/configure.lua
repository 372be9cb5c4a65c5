-- configure: set settings of a queue and create the queue if needed; an empty value unsets a setting. The
-- setting `shards` is the number of shards that share the queue's limits.
--
-- args   queue
-- each   name value:optional
-- flags  allow-oom
-- uses   keys ensure_queue notices
-- reply  1

-- later  apply_queue_limits

local LIMITS = { concurrency = true, rate = true, key_concurrency = true, key_rate = true, fair = true }
local limits_change = false

ensure_queue(queue)
for name, value in each() do
  limits_change = limits_change or LIMITS[name]
  if value then
    redis.call('HSET', key('settings', queue), name, value)
    if name == 'paused' and value == '0' then
      wake(queue, 1)
    end
  else
    redis.call('HDEL', key('settings', queue), name)
  end
end
if limits_change then
  apply_queue_limits(queue)
else
  send_notices()
end
return 1
