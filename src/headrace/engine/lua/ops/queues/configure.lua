-- configure: change the settings of a queue, and create the queue if it does not exist. An absent value
-- unsets a setting. The setting `shards` is the number of shards that share the limits of the queue.
--
-- args   queue:short_name
-- each   name value:optional
-- flags  allow-oom
-- uses   keys settings ensure_queue notices change_limits convert_rates
-- reply  1

local LIMITS = { concurrency = true, rate = true, key_concurrency = true, key_rate = true, fair = true }
local limits_change, before = false, settings(queue)

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
  convert_queue_rates(queue, before)
else
  send_notices()
end
return 1
