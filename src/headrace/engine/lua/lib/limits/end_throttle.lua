-- end_throttle: delete a throttle: a named limit shared by jobs of several queues. A throttle that is not
-- set, or that ended, lets every job through.
--
-- uses   keys lane_access

local function end_throttle(name)
  redis.call('DEL', key('throttle', name))
  redis.call('ZREM', THROTTLES, name)
  redis.call('ZREM', key('rates', ''), name)
  lanes('free', 't' .. name)
end
