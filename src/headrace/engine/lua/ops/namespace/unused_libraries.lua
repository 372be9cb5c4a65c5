-- unused_libraries: record which libraries no connected client uses. The caller passes their names. Return the
-- libraries that every sweep of the last `days` days has recorded as unused. The record of a returned library is
-- deleted, so its `days` days start again if a client loads it again.
--
-- args   days:int
-- each   name
-- flags  allow-oom
-- uses   keys now
-- reply  {name, ...}

local noted, unused = {}, {}
for name in each() do
  noted[name] = tonumber(redis.call('HGET', LIBRARIES, name) or now)
end
redis.call('DEL', LIBRARIES)
for name, since in pairs(noted) do
  if now - since >= days * 86400000 then
    unused[#unused + 1] = name
  else
    redis.call('HSET', LIBRARIES, name, since)
  end
end
return unused
