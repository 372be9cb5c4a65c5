-- get_schedules: return schedules and the server's time; an unknown id has no fields.
--
-- each   id
-- uses   keys now
-- reply  {now, {name, value, ...}, ...}

local reply = { now }
for id in each() do
  reply[#reply + 1] = redis.call('HGETALL', key('schedule', id))
end
return reply
