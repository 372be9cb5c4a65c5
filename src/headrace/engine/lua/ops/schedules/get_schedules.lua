-- get_schedules: schedules as they are now, and what time it is; nothing for an unknown id.
--
-- each   id
-- uses   keys now
-- reply  {now, {name, value, ...}, ...}

local reply = { now }
for id in each() do
  reply[#reply + 1] = redis.call('HGETALL', key('schedule', id))
end
return reply
