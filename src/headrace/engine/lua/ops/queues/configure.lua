-- configure: change the settings of a queue, and create the queue if it does not exist. An absent value
-- unsets a setting. The setting `shards` is the number of shards that share the limits of the queue.
--
-- args   queue:short_name actor:short_name
-- each   name value:optional
-- flags  allow-oom
-- nonce  always
-- uses   keys settings ensure_queue notices change_limits operator_events write_back
-- reply  1

local LIMITS = { concurrency = true, rate = true, key_concurrency = true, key_rate = true, fair = true }
local limits_change, before = false, settings(queue)

ensure_queue(queue)
for name, value in each() do
  limits_change = limits_change or LIMITS[name]
  if name == 'paused' and value == '0' then
    wake(queue, 1)
  end
end
change_settings(key('settings', queue), queue, each, actor)
if limits_change then
  apply_queue_limits(queue)
  convert_queue_rates(queue, before)
else
  forget_settings(queue)
  write_back()
end
return 1
