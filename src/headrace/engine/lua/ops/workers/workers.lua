-- workers: return a page of the workers that have a session.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys now
-- reply  {name, milliseconds left (-1: no limit), start time, about, {queue, ...}, number of held jobs}, ...

local reply = {}
local found = redis.call('ZRANGE', SESSIONS, offset, offset + count - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local name, ends = found[i], tonumber(found[i + 1])
  local started, about = unpack(redis.call('HMGET', key('session', name), 'started', 'about'))
  reply[#reply + 1] = {
    name, ends == math.huge and -1 or math.max(0, ends - now), started or '', about or '',
    redis.call('ZRANGE', key('serves', name), 0, -1), redis.call('ZCARD', key('held', name)),
  }
end
return reply
