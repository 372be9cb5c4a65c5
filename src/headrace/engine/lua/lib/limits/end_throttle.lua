-- end_throttle: named limits that jobs of several queues share. One that nobody has set, or that is over,
-- lets everything through.
--
-- uses   keys lane_access

local function end_throttle(name)
  redis.call('DEL', key('throttle', name))
  redis.call('ZREM', THROTTLES, name)
  redis.call('ZREM', key('rates', ''), name)
  lanes('free', 't' .. name)
end
