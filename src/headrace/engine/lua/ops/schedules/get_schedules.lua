-- get_schedules: return schedules and the server's time. For an unknown id, the list of fields is empty.
--
-- each   id
-- flags  no-writes
-- uses   keys now
-- reply  {now, {name, value, ...}, ...}

local reply = { now }
for id in each() do
  reply[#reply + 1] = redis.call('HGETALL', key('schedule', id))
end
return reply
